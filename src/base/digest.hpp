// SPDX-License-Identifier: MIT
#pragma once
// Cryptographic hashes, as text.

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

[[nodiscard]] std::string hexadecimal(std::string_view bytes);
// BLAKE2b with 256 bits (libsodium's generic hash), in hexadecimal: 64 digits.
[[nodiscard]] std::string digest(std::string_view text);
// BLAKE2b with 128 bits, in base64 for URLs: 22 characters.
[[nodiscard]] std::string short_digest(std::string_view text);

}  // namespace triage::inline v0_1::detail
