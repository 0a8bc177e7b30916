// SPDX-License-Identifier: MIT
// libFuzzer target: no bytes make the record decoder crash, hang, or accept what it would encode
// differently. Built with TRIAGE_BUILD_FUZZERS (clang). Its seeds run as an ordinary test.
#include "fuzz/record_decoder.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  triage::test::decode_and_check({reinterpret_cast<const char*>(data), size});
  return 0;
}
