# cmake -DINPUT=… -DOUTPUT=… -DSYMBOL=… -P EmbedText.cmake
# Writes a C++ source that defines triage::detail::SYMBOL as the text of INPUT, so that the library
# needs no file at run time. The text may hold anything but the delimiter )__text__".
file(READ "${INPUT}" text)
# Compilers limit the length of one literal; adjacent ones are joined.
string(LENGTH "${text}" length)
set(literals " \"\"")  # For an empty text.
set(begin 0)
while(begin LESS length)
  string(SUBSTRING "${text}" ${begin} 8000 part)
  string(APPEND literals "\n    R\"__text__(${part})__text__\"")
  math(EXPR begin "${begin} + 8000")
endwhile()
get_filename_component(name "${INPUT}" NAME)
file(WRITE "${OUTPUT}" "// Made from ${name} by cmake/EmbedText.cmake.
#include <string_view>

namespace triage::inline v0_1::detail {
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL} =${literals};
}  // namespace triage::detail
")
