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

}  // namespace triage::inline v0_1::detail
