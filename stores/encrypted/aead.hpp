// SPDX-License-Identifier: MIT
#pragma once
// XChaCha20-Poly1305 and Poly1305, by libsodium or, for large bodies where the build has it, by
// OpenSSL, which takes a third of the time. Both give the same bytes.

#include <cstddef>
#include <string_view>

namespace triage::inline v0_1::detail::aead {

inline constexpr std::size_t key_size = 32;
inline constexpr std::size_t nonce_size = 24;
inline constexpr std::size_t tag_size = 16;

// Writes the encrypted bytes, and the tag behind them. `place` is authenticated with them.
void seal(std::string_view bytes, std::string_view place, std::string_view nonce,
          std::string_view key, unsigned char* out);
// `box`: what seal() wrote. False if it was changed, or belongs to another place or key; `out` is
// undefined then.
[[nodiscard]] bool open(std::string_view box, std::string_view place, std::string_view nonce,
                        std::string_view key, unsigned char* out);
// Writes tag_size bytes.
void poly1305(std::string_view bytes, std::string_view key, unsigned char* out);

}  // namespace triage::inline v0_1::detail::aead
