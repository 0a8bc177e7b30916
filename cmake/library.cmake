# SPDX-License-Identifier: MIT
# How a library of the project is made.
include(${CMAKE_CURRENT_LIST_DIR}/headers.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/unity.cmake)

# triage_add_library(triage_x EXPORT x SOURCES … [ALONE …] HEADERS … [INCLUDES …] [LIBRARIES [PUBLIC …] [PRIVATE …]])
# HEADERS are relative to include/triage, INCLUDES to the project. ALONE are sources that stay out of a unity build: their
# classes have members of anonymous-namespace types, which g++ warns about there.
function(triage_add_library target)
  cmake_parse_arguments(ARG "" "EXPORT" "SOURCES;ALONE;HEADERS;INCLUDES;LIBRARIES" ${ARGN})
  add_library(${target})
  add_library(triage::${ARG_EXPORT} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include)
  triage_add_sources(${target} SOURCES ${ARG_SOURCES} ALONE ${ARG_ALONE} HEADERS ${ARG_HEADERS})
  list(TRANSFORM ARG_INCLUDES PREPEND ${PROJECT_SOURCE_DIR}/)
  target_include_directories(${target} PRIVATE ${ARG_INCLUDES})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:triage_dev>)
  target_link_libraries(${target} ${ARG_LIBRARIES})
  if(NOT target STREQUAL "triage")
    triage_precompiled(${target})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_EXPORT} VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# triage_add_sources(triage_x SOURCES … [ALONE …] [HEADERS …]): those of another folder than the library's own, too.
function(triage_add_sources target)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;HEADERS" ${ARGN})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/triage/)
  target_sources(${target} PRIVATE ${ARG_SOURCES} PUBLIC FILE_SET HEADERS FILES ${ARG_HEADERS})
  if(ARG_ALONE)
    set_source_files_properties(${ARG_ALONE} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  triage_unity_groups(${target} ${folder}_ ${ARG_SOURCES})
endfunction()

# A file that becomes part of a library: triage_embed(SYMBOL FILE) makes SYMBOL.cpp in the folder that calls it.
# FILE is relative to the project.
function(triage_embed symbol file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/EmbedText.cmake)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DSYMBOL=${symbol} -P ${script}
    DEPENDS ${file} ${script} VERBATIM)
endfunction()
