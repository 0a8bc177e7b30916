// SPDX-License-Identifier: MIT
#include "encrypted_sealing.hpp"

#include "triage/detail/try.hpp"
#include "triage/json.hpp"
#include "triage/record.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr std::size_t secret_size = crypto_aead_xchacha20poly1305_ietf_KEYBYTES;
constexpr std::size_t nonce_size = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_size = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(secret_size == 32);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// A keyed hash (BLAKE2b) of `size` bytes.
std::string keyed_hash(std::string_view secret, std::string_view what, std::size_t size) {
  std::string hash(size, '\0');
  crypto_generichash(bytes_of(hash), size, bytes_of(what), what.size(), bytes_of(secret),
                     secret.size());
  return hash;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

Error corrupt(std::string text) { return {Errc::corrupt, std::move(text)}; }

// A part of the map, if it is a text.
const std::string* text_in(const Json& map, const char* name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->get_ptr<const std::string*>();
}

}  // namespace

Result<void> check_store_key(const StoreKey& key) {
  if (!is_name(key.id)) {
    return Error{Errc::invalid_argument,
                 "the name of a key has 1 to 64 characters of A-Z a-z 0-9 . _ : -"};
  }
  if (key.secret.size() == secret_size) return outcome::success();
  return Error{
      Errc::invalid_argument,
      "key \"" + key.id + "\" has " + std::to_string(key.secret.size()) + " bytes; a key has 32"};
}

Sealer::Sealer(EncryptionOptions options) : id_(options.key.id), find_(std::move(options.find)) {
  keys_[id_] = derived(options.key);
  for (const StoreKey& key : options.older) keys_[key.id] = derived(key);
  sodium_memzero(options.key.secret.data(), options.key.secret.size());
  for (StoreKey& key : options.older) sodium_memzero(key.secret.data(), key.secret.size());
}

Sealer::~Sealer() {
  for (auto& [id, keys] : keys_) {
    sodium_memzero(keys.sealing.data(), keys.sealing.size());
    sodium_memzero(keys.nonce.data(), keys.nonce.size());
  }
}

Sealer::Keys Sealer::derived(const StoreKey& key) {
  return {.sealing = keyed_hash(key.secret, "triage store sealing", secret_size),
          .nonce = keyed_hash(key.secret, "triage store nonce", secret_size)};
}

Result<Sealer::Keys> Sealer::keys_of(const std::string& id) {
  {
    const std::scoped_lock here(mutex_);
    const auto known = keys_.find(id);
    if (known != keys_.end()) return known->second;
  }
  const Error unknown =
      corrupt("it is encrypted with the key \"" + printable(id) + "\", which is not known here");
  if (!find_ || !is_name(id)) return unknown;
  const Result<StoreKey> found = find_(id);
  if (!found || found.value().id != id || !check_store_key(found.value())) return unknown;
  const std::scoped_lock here(mutex_);
  return keys_.emplace(id, derived(found.value())).first->second;
}

std::string Sealer::seal(std::string_view bytes, std::string_view place) const {
  const Keys* keys = nullptr;
  {
    const std::scoped_lock here(mutex_);
    keys = &keys_.at(id_);  // Never removed.
  }
  // Derived from place and bytes: the same nonce only recurs with the same two.
  std::string whole(place);
  whole.push_back('\0');
  whole.append(bytes);
  std::string box = keyed_hash(keys->nonce, whole, nonce_size);
  sodium_memzero(whole.data(), whole.size());
  box.resize(nonce_size + bytes.size() + tag_size);
  unsigned long long size = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(bytes_of(box) + nonce_size, &size, bytes_of(bytes),
                                             bytes.size(), bytes_of(place), place.size(), nullptr,
                                             bytes_of(box), bytes_of(keys->sealing));
  std::string out;
  encode_cbor(Json{{"key", id_}, {"sealed", std::move(box)}}, out);
  return out;
}

bool Sealer::is_newest(std::string_view sealed) const {
  const Result<Json> map = decode_cbor(sealed);
  const std::string* const id =
      map && map.value().is_object() ? text_in(map.value(), "key") : nullptr;
  return id != nullptr && *id == id_;
}

Result<std::string> Sealer::open(std::string_view sealed, std::string_view place) {
  const Result<Json> map = decode_cbor(sealed);
  const bool is_map = map && map.value().is_object() && map.value().size() == 2;
  const std::string* const id = is_map ? text_in(map.value(), "key") : nullptr;
  const std::string* const box = is_map ? text_in(map.value(), "sealed") : nullptr;
  if (id == nullptr || box == nullptr || box->size() < nonce_size + tag_size) {
    return corrupt("it is not encrypted, although a key is set");
  }
  TRIAGE_TRY(keys, keys_of(*id));
  std::string bytes(box->size() - nonce_size - tag_size, '\0');
  unsigned long long size = 0;
  const int right = crypto_aead_xchacha20poly1305_ietf_decrypt(
      bytes_of(bytes), &size, nullptr, bytes_of(std::string_view(*box)) + nonce_size,
      box->size() - nonce_size, bytes_of(place), place.size(), bytes_of(std::string_view(*box)),
      bytes_of(keys.sealing));
  if (right == 0) return outcome::success(std::move(bytes));
  return corrupt("it was changed, or belongs to another place, or the key \"" + *id +
                 "\" is another one");
}

}  // namespace detail

Result<StoreKey> parse_store_key(std::string_view text) {
  const Error refused{Errc::invalid_argument,
                      "the key cannot be read; expected ID and 64 hexadecimal digits, with a space "
                      "between them"};
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == text.npos) return refused;
  text = text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
  const std::size_t end = text.find_first_of(blank);
  if (end == text.npos) return refused;
  StoreKey key{.id = std::string(text.substr(0, end))};
  const std::string_view digits = text.substr(text.find_first_not_of(blank, end));
  key.secret.resize(32);
  std::size_t size = 0;
  const char* behind = nullptr;
  if (digits.size() != 64 ||
      sodium_hex2bin(reinterpret_cast<unsigned char*>(key.secret.data()), key.secret.size(),
                     digits.data(), digits.size(), nullptr, &size, &behind) != 0 ||
      size != 32 || behind != digits.data() + digits.size()) {
    return refused;
  }
  TRIAGE_TRYV(detail::check_store_key(key));
  return outcome::success(std::move(key));
}

Result<StoreKey> store_key_in_file(const std::string& path) {
  const auto failed = [&](int code) {
    return Error{code == ENOENT ? Errc::not_found : Errc::io,
                 "the key file \"" + printable(path) + "\": " + std::strerror(code)};
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(errno);
  struct stat facts {};
  std::array<char, 512> text{};
  const bool seen = ::fstat(file, &facts) == 0;
  const ssize_t size = ::read(file, text.data(), text.size());
  const int code = errno;
  ::close(file);
  if (!seen || size < 0) return failed(code);
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Error{Errc::invalid_argument, "the key file \"" + printable(path) +
                                             "\" can be read or written by others; chmod 600 it"};
  }
  auto key = parse_store_key({text.data(), static_cast<std::size_t>(size)});
  sodium_memzero(text.data(), text.size());
  return key;
}

Result<StoreKey> store_key_in_environment(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) {
    return Error{Errc::not_found, "the environment has no " + std::string(variable)};
  }
  return parse_store_key(text);
}

}  // namespace triage::inline v0_1
