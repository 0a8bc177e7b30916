// SPDX-License-Identifier: MIT
#pragma once
// A record's body as JSON text, straight from its bytes: what lies between would cost more than
// writing it.

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Step members by the one letter under which they are stored; empty: there is no such one.
[[nodiscard]] std::string_view step_member_shown(char letter) noexcept;

// Appends a body of ours (checked with fits_in_memory()) to `out`; with `is_step`, under the long
// names of a step's members. False, with `out` as it was, for what JSON text does not give back as
// it is, or what has another shape than we write: bytes that are no UTF-8, numbers that are not
// finite, members out of order.
[[nodiscard]] bool append_as_text(std::string_view body, bool is_step, std::string& out);

}  // namespace triage::inline v0_1::detail
