# SPDX-License-Identifier: MIT
# What nearly every source includes and takes longest to read is precompiled once, by the core.

# triage_precompiled(TARGET…): they use what the core has precompiled. Where position-independent code is asked for,
# libraries and programs are compiled with other options than each other, so there each source reads its headers.
function(triage_precompiled)
  if(BUILD_SHARED_LIBS OR CMAKE_POSITION_INDEPENDENT_CODE)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM triage)
  endforeach()
endfunction()
