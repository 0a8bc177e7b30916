// SPDX-License-Identifier: MIT
#pragma once
// JSON text, and CBOR that others wrote, as the CBOR of record bodies. Private.

#include "triage/result.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Both append to `out` what encode_cbor() appends for the tree of the same value, in one pass and
// without the tree, and refuse what cannot be stored: values nested deeper than max_json_depth,
// malformed input, bytes after the value. Errors: Errc::invalid_argument; `what` names the value.

// RFC 8259, as Json::parse() reads it: of several members with one key the last one counts;
// integers beyond 64 bits become floating point; numbers beyond that, lone surrogates and text that
// is not UTF-8 are refused.
[[nodiscard]] Result<void> append_json_text(std::string_view json, std::string_view what,
                                            std::string& out);
// RFC 8949: definite lengths, text keys, no byte strings, tags or undefined values. Text may be any
// bytes, as in a Step; keys may be in any order, and the last of several equal ones counts.
[[nodiscard]] Result<void> append_cbor(std::string_view cbor, std::string_view what,
                                       std::string& out);

}  // namespace triage::inline v0_1::detail
