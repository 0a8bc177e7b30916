// SPDX-License-Identifier: MIT
// What encrypts large bodies gives the same bytes as libsodium, which the format names.
#include "encrypted/aead.hpp"

#include "support/catch.hpp"

#include <sodium.h>

#include <string>

using namespace triage::detail;

namespace {

unsigned char* raw(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* raw(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string numbered(std::size_t size, unsigned factor) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * factor >> 3U);
  return text;
}

}  // namespace

TEST_CASE("bodies of every size are sealed as libsodium seals them, and opened by both",
          "[stores][encrypted]") {
  const std::size_t size = GENERATE(0U, 1U, 16U, 4'095U, 4'096U, 4'097U, 65'536U, 100'003U);
  INFO(size);
  const std::string bytes = numbered(size, 7);
  const std::string place = numbered(size % 90, 5);
  const std::string key = numbered(aead::key_size, 31);
  const std::string nonce = numbered(aead::nonce_size, 77);
  std::string box(size + aead::tag_size, '\0');
  aead::seal(bytes, place, nonce, key, raw(box));
  std::string expected(box.size(), '\0');
  unsigned long long written = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(raw(expected), &written, raw(bytes), size, raw(place),
                                             place.size(), nullptr, raw(nonce), raw(key));
  CHECK(box == expected);
  std::string opened(size, '\0');
  CHECK(aead::open(box, place, nonce, key, raw(opened)));
  CHECK(opened == bytes);
  for (const std::size_t at : {std::size_t{0}, size / 2, box.size() - 1}) {
    std::string changed = box;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK_FALSE(aead::open(changed, place, nonce, key, raw(opened)));
  }
  CHECK_FALSE(aead::open(box, place + "x", nonce, key, raw(opened)));
  std::string hash(aead::tag_size, '\0');
  aead::poly1305(bytes, key, raw(hash));
  std::string same(aead::tag_size, '\0');
  crypto_onetimeauth(raw(same), raw(bytes), size, raw(key));
  CHECK(hash == same);
}
