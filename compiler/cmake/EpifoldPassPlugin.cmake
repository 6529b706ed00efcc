# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Functions that build a pass plugin and run its tests; `find_package(Epifold COMPONENTS PassPlugin)` reads this file.

# epifold_add_pass_plugin(NAME source…)
# NAME.so, for `--load-pass-plugin`. It sees the headers of MLIR, of both dialects and of the passes.
function(epifold_add_pass_plugin name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "")
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE "${EPIFOLD_PLUGIN_INCLUDE_DIR}")
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  # Generated op code leaves parameters unused.
  target_compile_options(${name} PRIVATE -Wno-unused-parameter)
  # As the shared MLIR was built: the layout of a pass depends on it.
  target_compile_definitions(${name} PRIVATE NDEBUG __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
  target_link_libraries(${name} PRIVATE Epifold::Compiler MLIR LLVM)
endfunction()

# epifold_add_plugin_tests(NAME folder)
# A ctest entry NAME-tests: lit over the .mlir and .test files of the folder. %plugin is the built plugin; the installed
# tools, FileCheck and split-file are on the path.
function(epifold_add_plugin_tests name folder)
  find_program(EPIFOLD_LIT NAMES lit-22 llvm-lit lit REQUIRED)
  set(site "${CMAKE_CURRENT_BINARY_DIR}/${folder}")
  file(CONFIGURE OUTPUT "${site}/lit.site.cfg.py.in" @ONLY CONTENT [[
import lit.formats

config.name = "@name@"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = "@CMAKE_CURRENT_SOURCE_DIR@/@folder@"
config.test_exec_root = "@site@"
config.environment["PATH"] = "@EPIFOLD_TOOLS_DIR@:@LLVM_TOOLS_BINARY_DIR@:" + config.environment["PATH"]
config.substitutions.append(("%plugin", "$<TARGET_FILE:@name@>"))
]])
  file(GENERATE OUTPUT "${site}/lit.site.cfg.py" INPUT "${site}/lit.site.cfg.py.in")
  add_test(NAME ${name}-tests COMMAND "${EPIFOLD_LIT}" -sv "${site}")
endfunction()
