# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Links MLIR's and LLVM's archives into one self-contained executable.

find_library(EPIFOLD_STATIC_ZSTD libzstd.a REQUIRED)
find_library(EPIFOLD_STATIC_ZLIB libz.a REQUIRED)

# epifold_static_mlir_libs(OUT library…)
# Sets OUT to link items that bring the named MLIR or LLVM archives, with all they need, in static form.
#
# Debian's exported archives name the shared LLVM and MLIR among their dependencies. A binary that holds both forms
# registers LLVM's command-line options twice and aborts at start, so those names are removed from every archive that
# the link reaches; z3 is only an analysis plug-in's wish; zstd and zlib have archives of their own.
function(epifold_static_mlir_libs out)
  set(pending ${ARGN})
  set(visited)
  while(pending)
    list(POP_FRONT pending library)
    if(library IN_LIST visited OR NOT TARGET ${library})
      continue()
    endif()
    list(APPEND visited ${library})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
      message(FATAL_ERROR "epifold_static_mlir_libs: ${library} is a shared library")
    endif()
    get_target_property(dependencies ${library} INTERFACE_LINK_LIBRARIES)
    if(NOT dependencies)
      continue()
    endif()
    set(kept)
    foreach(dependency ${dependencies})
      # A private dependency of a static archive is wrapped as $<LINK_ONLY:name>.
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.+)>$" "\\1" name "${dependency}")
      if(name MATCHES "^(LLVM|MLIR)$" OR name MATCHES "z3")
        continue()
      elseif(name MATCHES "zstd")
        list(APPEND kept "${EPIFOLD_STATIC_ZSTD}")
      elseif(name MATCHES "ZLIB::ZLIB")
        list(APPEND kept "${EPIFOLD_STATIC_ZLIB}")
      else()
        list(APPEND kept "${dependency}")
        list(APPEND pending "${name}")
      endif()
    endforeach()
    set_target_properties(${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${kept}")
  endwhile()
  set(${out} ${ARGN} PARENT_SCOPE)
endfunction()
