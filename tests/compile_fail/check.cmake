# Compiles FILE with COMPILER and INCLUDES (separated by |). A file with a line "// expect: TEXT" must fail
# with TEXT in the message of the first error; one without must compile.
string(REPLACE "|" ";-I" includes "-I${INCLUDES}")
execute_process(
  COMMAND ${COMPILER} -std=c++20 -fsyntax-only -fdiagnostics-color=never ${includes} ${FILE}
  RESULT_VARIABLE status ERROR_VARIABLE errors OUTPUT_VARIABLE errors)

file(STRINGS ${FILE} expectation REGEX "^// expect: ")
if(NOT expectation)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "must compile, but:\n${errors}")
  endif()
  return()
endif()
string(REGEX REPLACE "^// expect: " "" expectation "${expectation}")
if(status EQUAL 0)
  message(FATAL_ERROR "compiles, but should fail with: ${expectation}")
endif()
string(REGEX MATCH "error: [^\n]*" first "${errors}")
string(FIND "${first}" "triage: " ours)
string(FIND "${first}" "${expectation}" found)
if(ours EQUAL -1 OR found EQUAL -1)
  message(FATAL_ERROR "the first error should say\n  triage: … ${expectation}\nbut it is\n  ${first}\nof\n${errors}")
endif()
