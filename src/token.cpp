// SPDX-License-Identifier: MIT
#include "token.hpp"

#include <sodium.h>

#include <array>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t token_bytes = 32;

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  std::string text(2 * count + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes, count);
  text.pop_back();
  return text;
}

}  // namespace

std::string make_token() {
  std::array<unsigned char, token_bytes> secret{};
  randombytes_buf(secret.data(), secret.size());
  return hexadecimal(secret.data(), secret.size());
}

std::string hash_of(std::string_view text) {
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  return hexadecimal(hash.data(), hash.size());
}

}  // namespace triage::inline v0_1::detail
