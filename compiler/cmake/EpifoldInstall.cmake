# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What `cmake --install` lays down, and the package that find_package(Epifold) reads.

include(CMakePackageConfigHelpers)
set(EPIFOLD_PLUGIN_HEADERS "${CMAKE_INSTALL_INCLUDEDIR}/epifold/plugin")

# epifold_install_library(TARGET EXPORT_NAME INCLUDE_DIR)
# Exports TARGET as Epifold::EXPORT_NAME and installs the public headers under INCLUDE_DIR.
function(epifold_install_library target export_name include_dir)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${include_dir}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(${target} PUBLIC cxx_std_20)
  install(TARGETS ${target} EXPORT EpifoldTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY "${include_dir}/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endfunction()

# epifold_install_plugin_headers()
# Installs what a pass plugin includes, in folders of its own: the dialects with their generated parts, and the passes.
function(epifold_install_plugin_headers)
  foreach(tree "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
    install(DIRECTORY "${tree}/ir" "${tree}/passes" DESTINATION "${EPIFOLD_PLUGIN_HEADERS}"
      FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
      PATTERN CMakeFiles EXCLUDE PATTERN numerics EXCLUDE PATTERN lowering EXCLUDE PATTERN ExpertBranches.h EXCLUDE)
  endforeach()
endfunction()

# Called once, after the last library is declared.
function(epifold_install_package)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Epifold")
  install(EXPORT EpifoldTargets NAMESPACE Epifold:: DESTINATION "${package_dir}")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" MLIR_VERSION_MAJOR_MINOR "${LLVM_PACKAGE_VERSION}")
  configure_package_config_file("${CMAKE_SOURCE_DIR}/compiler/cmake/EpifoldConfig.cmake.in"
    "${CMAKE_BINARY_DIR}/package/EpifoldConfig.cmake" INSTALL_DESTINATION "${package_dir}"
    PATH_VARS EPIFOLD_PLUGIN_HEADERS CMAKE_INSTALL_BINDIR)
  # Before 1.0 a minor version may change an interface.
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/EpifoldConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_BINARY_DIR}/package/EpifoldConfig.cmake" "${CMAKE_BINARY_DIR}/package/EpifoldConfigVersion.cmake"
    "${CMAKE_SOURCE_DIR}/compiler/cmake/EpifoldPassPlugin.cmake" DESTINATION "${package_dir}")
  install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()
