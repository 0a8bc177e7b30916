# SPDX-License-Identifier: MIT
# With TRIAGE_UNITY, the sources of one folder are compiled together, at most ten at a time: half the time of a first
# build, since most of it is the same headers again and again, but more work after each change. The presets that build
# everything from nothing turn it on. Names in anonymous namespaces are unique within a folder for its sake.
option(TRIAGE_UNITY "Compile the sources of a folder together: a first build takes half as long" OFF)

# triage_unity(TARGET): its sources by folder. Generated sources and those that say so stay alone.
function(triage_unity target)
  get_target_property(sources ${target} SOURCES)
  triage_unity_groups(${target} "" ${sources})
endfunction()

# triage_unity_groups(TARGET PREFIX SOURCE…): these, whose groups' names begin with a prefix.
function(triage_unity_groups target prefix)
  if(NOT TRIAGE_UNITY)
    return()
  endif()
  set(together 10)
  foreach(source IN LISTS ARGN)
    if(IS_ABSOLUTE "${source}" OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${prefix}${folder}" folder)
    list(APPEND ${folder} "${source}")
    list(LENGTH ${folder} count)
    math(EXPR group "(${count} - 1) / ${together}")
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
