# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Finds what the tests check with, and records what they have to leave out on this machine.

# epifold_leave_out(CHECK): `./dev test` names CHECK, and why it is missing, in its last lines.
function(epifold_leave_out check)
  set_property(GLOBAL APPEND_STRING PROPERTY EPIFOLD_LEFT_OUT "${check}\n")
endfunction()

# Called once, after the last folder.
function(epifold_write_left_out)
  get_property(left_out GLOBAL PROPERTY EPIFOLD_LEFT_OUT)
  file(WRITE "${CMAKE_BINARY_DIR}/left-out.txt" "${left_out}")
endfunction()

find_program(EPIFOLD_PTXAS ptxas HINTS /usr/local/cuda/bin DOC "NVIDIA's PTX assembler, with which the tests check emitted PTX")
if(NOT EPIFOLD_PTXAS)
  set(EPIFOLD_PTXAS "")
  epifold_leave_out("emitted PTX through ptxas (ptxas not found; ./dev setup --with-ptxas fetches it)")
endif()
if(NOT EXISTS "${EPIFOLD_VECTORS_DIR}")
  epifold_leave_out("float64 workload vectors (no folder ${EPIFOLD_VECTORS_DIR}; set EPIFOLD_VECTORS_DIR)")
endif()
