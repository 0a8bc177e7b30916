// SPDX-License-Identifier: MIT
// libFuzzer target: JSON text and CBOR given with a step are stored as the tree of the same value
// would be, or refused. Built with TRIAGE_BUILD_FUZZERS (clang).
#include "fuzz/step_values.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  triage::test::store_and_check({reinterpret_cast<const char*>(data), size});
  return 0;
}
