# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Functions that declare Epifold's libraries, dialects, tools and tests with one set of flags.

find_program(EPIFOLD_CCACHE ccache)
if(EPIFOLD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${EPIFOLD_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${EPIFOLD_CCACHE}")
endif()

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(fmt REQUIRED)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(LLVM_ENABLE_ASSERTIONS OFF)

# Flags of every target. Contraction is off everywhere: a fused multiply-add is written where the contract has one.
add_library(EpifoldFlags INTERFACE)
target_include_directories(EpifoldFlags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
target_compile_options(EpifoldFlags INTERFACE -ffp-contract=off -fno-fast-math -Wall -Wextra -fvisibility-inlines-hidden)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_link_options(EpifoldFlags INTERFACE -fuse-ld=lld)
endif()
if(EPIFOLD_SANITIZE)
  target_compile_options(EpifoldFlags INTERFACE -fsanitize=${EPIFOLD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(EpifoldFlags INTERFACE -fsanitize=${EPIFOLD_SANITIZE})
endif()

# Headers of MLIR and LLVM, as system headers, without linking either.
add_library(EpifoldMLIRHeaders INTERFACE)
target_include_directories(EpifoldMLIRHeaders SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
# Generated op code leaves parameters unused.
target_compile_options(EpifoldMLIRHeaders INTERFACE -Wno-unused-parameter)
# The Debian libraries were built with NDEBUG, on which the layout of a pass's statistics depends.
target_compile_definitions(EpifoldMLIRHeaders INTERFACE NDEBUG __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)

# epifold_add_library(NAME SOURCES … [DEPS …] [MLIR] [TABLEGEN target…])
# A static, position-independent library. MLIR: it includes MLIR's headers (the final binary links MLIR once).
function(epifold_add_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPS;TABLEGEN" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  # The flags are this build's affair: an installed library does not pass them on.
  target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:EpifoldFlags> ${ARG_DEPS})
  if(ARG_MLIR)
    target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:EpifoldMLIRHeaders>)
    set_property(GLOBAL APPEND PROPERTY EPIFOLD_COMPILER_LIBRARIES ${name})
  endif()
  if(ARG_TABLEGEN)
    add_dependencies(${name} ${ARG_TABLEGEN})
    set_property(GLOBAL APPEND PROPERTY EPIFOLD_TABLEGEN_TARGETS ${ARG_TABLEGEN})
  endif()
  get_property(tablegen GLOBAL PROPERTY EPIFOLD_TABLEGEN_TARGETS)
  if(ARG_MLIR AND tablegen)
    add_dependencies(${name} ${tablegen})
  endif()
endfunction()

# epifold_tablegen(TARGET TD file GENERATORS "flag:output" …)
# Runs mlir-tblgen once per generator into the build tree beside the source.
function(epifold_tablegen target)
  cmake_parse_arguments(ARG "" "TD" "GENERATORS" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS "${ARG_TD}")
  set(TABLEGEN_OUTPUT)
  foreach(generator ${ARG_GENERATORS})
    string(REGEX MATCH "^([^|]+)\\|(.+)$" _ "${generator}")
    set(output "${CMAKE_MATCH_2}")
    string(REPLACE " " ";" flags "${CMAKE_MATCH_1}")
    mlir_tablegen(${output} ${flags} EXTRA_INCLUDES "${CMAKE_SOURCE_DIR}" ${MLIR_INCLUDE_DIRS})
  endforeach()
  add_public_tablegen_target(${target})
endfunction()

# epifold_add_tool(NAME SOURCES … [DEPS …])
function(epifold_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE EpifoldFlags ${ARG_DEPS})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# epifold_add_unittest(NAME SOURCES … [DEPS …] [LABELS …])
# A GoogleTest binary, registered with ctest under its own name.
function(epifold_add_unittest name)
  if(NOT EPIFOLD_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE EpifoldFlags ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/bin")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${ARG_LABELS}"
    ENVIRONMENT "EPIFOLD_VECTORS_DIR=${EPIFOLD_VECTORS_DIR}")
endfunction()
