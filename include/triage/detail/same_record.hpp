// SPDX-License-Identifier: MIT
#pragma once
// Whether a store already holds given records, because the reply to an earlier try was lost.

#include "triage/record.hpp"

#include <algorithm>
#include <string>

namespace triage::inline v0_1::detail {

// By sequence, kind, time and encoded body. O(bytes).
[[nodiscard]] inline bool same_record(const Record& a, const Record& b) {
  if (a.seq() != b.seq() || a.kind() != b.kind() || a.time() != b.time()) return false;
  std::string body_of_a;
  std::string body_of_b;
  a.encode_body(body_of_a);
  b.encode_body(body_of_b);
  return body_of_a == body_of_b;
}

// The same for two ranges of records, in order.
template <class Records, class OtherRecords>
[[nodiscard]] bool same_records(const Records& a, const OtherRecords& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_record);
}

}  // namespace triage::inline v0_1::detail
