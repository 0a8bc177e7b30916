// SPDX-License-Identifier: MIT
// libFuzzer target: no bytes make the classifier, the reader of its lines or the checks of a
// contract crash, hang or give an invalid answer. Built with TRIAGE_BUILD_FUZZERS (clang). Its
// seeds run as an ordinary test.
#include "fuzz/classify.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  triage::test::classify_and_check({reinterpret_cast<const char*>(data), size});
  return 0;
}
