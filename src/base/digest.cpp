// SPDX-License-Identifier: MIT
#include "base/digest.hpp"

#include <sodium.h>

#include <array>

namespace triage::inline v0_1::detail {

std::string hexadecimal(std::string_view bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                 bytes.size());
  text.pop_back();
  return text;
}

std::string digest(std::string_view text) {
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  return hexadecimal({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

std::string short_digest(std::string_view text) {
  std::array<unsigned char, 16> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  std::array<char, 23> encoded{};
  sodium_bin2base64(encoded.data(), encoded.size(), hash.data(), hash.size(),
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  return encoded.data();
}

}  // namespace triage::inline v0_1::detail
