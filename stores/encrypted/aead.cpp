// SPDX-License-Identifier: MIT
#include "aead.hpp"

#include <sodium.h>

#ifdef TRIAGE_HAS_LIBCRYPTO
#include <openssl/evp.h>

#include <array>
#include <limits>
#include <memory>
#endif

namespace triage::inline v0_1::detail::aead {
namespace {

static_assert(key_size == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(nonce_size == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(tag_size == crypto_aead_xchacha20poly1305_ietf_ABYTES);
static_assert(tag_size == crypto_onetimeauth_BYTES && key_size == crypto_onetimeauth_KEYBYTES);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

#ifdef TRIAGE_HAS_LIBCRYPTO

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* what) const noexcept {
    Free(what);
  }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Freed<EVP_MAC_CTX_free>>;

// Below this, OpenSSL takes longer to set up than it saves.
constexpr std::size_t large = 4096;
bool is_large(std::string_view bytes) {
  return bytes.size() >= large && bytes.size() < std::numeric_limits<int>::max();
}

// Fetched once, and never freed. Null: this OpenSSL does not have it.
EVP_CIPHER* cipher() {
  static EVP_CIPHER* const one = EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
  return one;
}
EVP_MAC* mac() {
  static EVP_MAC* const one = EVP_MAC_fetch(nullptr, "POLY1305", nullptr);
  return one;
}

// XChaCha20 is ChaCha20 with a key and a nonce that are derived from its own
// (draft-irtf-cfrg-xchacha, section 2.3).
struct Derived {
  Derived(std::string_view given_nonce, std::string_view given_key) {
    crypto_core_hchacha20(key.data(), bytes_of(given_nonce), bytes_of(given_key), nullptr);
    for (std::size_t i = 0; i < 8; ++i) nonce[4 + i] = bytes_of(given_nonce)[16 + i];
  }
  ~Derived() { sodium_memzero(key.data(), key.size()); }
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;

  std::array<unsigned char, key_size> key{};
  std::array<unsigned char, 12> nonce{};
};

// False: OpenSSL cannot, and nothing counts.
bool seal_fast(std::string_view bytes, std::string_view place, std::string_view nonce,
               std::string_view key, unsigned char* out) {
  const Context context(EVP_CIPHER_CTX_new());
  if (!is_large(bytes) || !context || cipher() == nullptr) return false;
  const Derived derived(nonce, key);
  const auto size = static_cast<int>(bytes.size());
  int written = 0;
  int rest = 0;
  return EVP_EncryptInit_ex2(context.get(), cipher(), derived.key.data(), derived.nonce.data(),
                             nullptr) == 1 &&
         EVP_EncryptUpdate(context.get(), nullptr, &rest, bytes_of(place),
                           static_cast<int>(place.size())) == 1 &&
         EVP_EncryptUpdate(context.get(), out, &written, bytes_of(bytes), size) == 1 &&
         EVP_EncryptFinal_ex(context.get(), out + written, &rest) == 1 && written + rest == size &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_size),
                             out + size) == 1;
}

bool open_fast(std::string_view box, std::string_view place, std::string_view nonce,
               std::string_view key, unsigned char* out) {
  const Context context(EVP_CIPHER_CTX_new());
  if (!is_large(box) || !context || cipher() == nullptr) return false;
  const Derived derived(nonce, key);
  const auto size = static_cast<int>(box.size() - tag_size);
  std::array<unsigned char, tag_size> tag{};
  for (std::size_t i = 0; i < tag_size; ++i) tag[i] = bytes_of(box)[box.size() - tag_size + i];
  int written = 0;
  int rest = 0;
  return EVP_DecryptInit_ex2(context.get(), cipher(), derived.key.data(), derived.nonce.data(),
                             nullptr) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_size),
                             tag.data()) == 1 &&
         EVP_DecryptUpdate(context.get(), nullptr, &rest, bytes_of(place),
                           static_cast<int>(place.size())) == 1 &&
         EVP_DecryptUpdate(context.get(), out, &written, bytes_of(box), size) == 1 &&
         EVP_DecryptFinal_ex(context.get(), out + written, &rest) == 1 && written + rest == size;
}

bool poly1305_fast(std::string_view bytes, std::string_view key, unsigned char* out) {
  if (!is_large(bytes) || mac() == nullptr) return false;
  const MacContext context(EVP_MAC_CTX_new(mac()));
  std::size_t size = 0;
  return context && EVP_MAC_init(context.get(), bytes_of(key), key.size(), nullptr) == 1 &&
         EVP_MAC_update(context.get(), bytes_of(bytes), bytes.size()) == 1 &&
         EVP_MAC_final(context.get(), out, &size, tag_size) == 1 && size == tag_size;
}

#else

bool seal_fast(std::string_view, std::string_view, std::string_view, std::string_view,
               unsigned char*) {
  return false;
}
bool open_fast(std::string_view, std::string_view, std::string_view, std::string_view,
               unsigned char*) {
  return false;
}
bool poly1305_fast(std::string_view, std::string_view, unsigned char*) { return false; }

#endif

}  // namespace

void seal(std::string_view bytes, std::string_view place, std::string_view nonce,
          std::string_view key, unsigned char* out) {
  if (seal_fast(bytes, place, nonce, key, out)) return;
  unsigned long long size = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(out, &size, bytes_of(bytes), bytes.size(),
                                             bytes_of(place), place.size(), nullptr,
                                             bytes_of(nonce), bytes_of(key));
}

bool open(std::string_view box, std::string_view place, std::string_view nonce,
          std::string_view key, unsigned char* out) {
  // Whatever OpenSSL refuses is asked of libsodium once more: the box, or OpenSSL, may be at fault.
  if (open_fast(box, place, nonce, key, out)) return true;
  unsigned long long size = 0;
  return crypto_aead_xchacha20poly1305_ietf_decrypt(out, &size, nullptr, bytes_of(box), box.size(),
                                                    bytes_of(place), place.size(), bytes_of(nonce),
                                                    bytes_of(key)) == 0;
}

void poly1305(std::string_view bytes, std::string_view key, unsigned char* out) {
  if (poly1305_fast(bytes, key, out)) return;
  crypto_onetimeauth(out, bytes_of(bytes), bytes.size(), bytes_of(key));
}

}  // namespace triage::inline v0_1::detail::aead
