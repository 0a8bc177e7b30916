// SPDX-License-Identifier: MIT
#include "encrypted_sealing.hpp"

#include "aead.hpp"
#include "base/run_catching.hpp"
#include "journal/cbor_reader.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"
#include "triage/record.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr std::size_t secret_size = aead::key_size;
using aead::nonce_size;
using aead::tag_size;
static_assert(secret_size == 32);

// Names on disk: see docs/checkpoint_format.md. They never change.
constexpr std::string_view key_name = "key";
constexpr std::string_view box_name = "sealed";

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

void put_text(std::string& out, std::string_view text) {
  cbor::put_head(out, cbor::text_string, text.size());
  out.append(text);
}

bool take_text(std::string_view& rest, std::string_view& text) {
  std::uint64_t size = 0;
  if (!cbor::take_head(rest, cbor::text_string, size) || size > rest.size()) return false;
  text = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

// The parts of what Sealer::seal() gave.
struct Sealed {
  std::string_view key{};
  std::string_view box{};
};

std::optional<Sealed> parts_of(std::string_view rest) {
  Sealed parts;
  std::uint64_t members = 0;
  std::string_view name;
  if (!cbor::take_head(rest, cbor::map, members) || members != 2) return std::nullopt;
  if (!take_text(rest, name) || name != key_name || !take_text(rest, parts.key)) {
    return std::nullopt;
  }
  if (!take_text(rest, name) || name != box_name || !take_text(rest, parts.box) || !rest.empty()) {
    return std::nullopt;
  }
  return parts.box.size() < nonce_size + tag_size ? std::nullopt : std::optional(parts);
}

// Fills `text`, or less if the file ends. A pipe may take its time, but not for ever. -1: errno.
ssize_t read_beginning(int file, std::span<char> text) {
  constexpr int longest_wait_ms = 10'000;
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file, text.data() + size, text.size() - size);
    if (got == 0) break;
    if (got > 0) {
      size += static_cast<std::size_t>(got);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return -1;
    pollfd writer{.fd = file, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&writer, 1, longest_wait_ms);
    if (ready == 0) errno = ETIMEDOUT;
    if (ready <= 0 && errno != EINTR) return -1;
  }
  return static_cast<ssize_t>(size);
}

void put(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

// A run id contains no zero byte.
std::string place_of(const RunId& run, const Record& record) {
  std::string place = "record";
  place.push_back('\0');
  place += run;
  place.push_back('\0');
  put(place, record.seq());
  put(place, static_cast<std::uint64_t>(record.kind()));
  put(place, static_cast<std::uint64_t>(record.time().time_since_epoch().count()));
  return place;
}

std::string place_of(std::string_view space, std::string_view key) {
  std::string place = "key";
  place.push_back('\0');
  put(place, space.size());
  place += space;
  place += key;
  return place;
}

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
  // Without it, the ciphers and hashes do without vector instructions.
  [[maybe_unused]] const int already = sodium_init();
  keys_[id_] = derived(options.key);
  for (const StoreKey& key : options.older) keys_[key.id] = derived(key);
  sodium_memzero(options.key.secret.data(), options.key.secret.size());
  for (StoreKey& key : options.older) sodium_memzero(key.secret.data(), key.secret.size());
}

Sealer::~Sealer() {
  for (auto& [id, keys] : keys_) {
    for (std::string* const key : {&keys.sealing, &keys.hash, &keys.nonce}) {
      sodium_memzero(key->data(), key->size());
    }
  }
}

Sealer::Keys Sealer::derived(const StoreKey& key) {
  return {.sealing = keyed_hash(key.secret, "triage store sealing", secret_size),
          .hash = keyed_hash(key.secret, "triage store hash", secret_size),
          .nonce = keyed_hash(key.secret, "triage store nonce of hash", secret_size)};
}

Result<const Sealer::Keys*> Sealer::keys_of(std::string_view id, UnknownKeys& unknown) {
  {
    const std::scoped_lock here(mutex_);
    const auto known = keys_.find(id);
    if (known != keys_.end()) return &known->second;
  }
  const Error no_key =
      corrupt("it is encrypted with the key \"" + printable(id) + "\", which is not known here");
  if (!find_ || !is_name(id) || unknown.contains(id)) return no_key;
  const std::string name(id);
  bool threw = false;
  const auto ask = [&]() -> Result<StoreKey> {
    try {
      return find_(name);
    } catch (...) {
      threw = true;
      return Error{Errc::io, "the function that finds keys threw when asked for the key \"" + name +
                                 "\": " + current_exception_text()};
    }
  };
  Result<StoreKey> found = ask();
  if (threw) return found.error();  // Not unknown: a server that did not answer may do so later.
  if (!found || found.value().id != name || !check_store_key(found.value())) {
    unknown.insert(name);
    return no_key;
  }
  const std::scoped_lock here(mutex_);
  const Keys* const keys = &keys_.emplace(name, derived(found.value())).first->second;
  sodium_memzero(found.value().secret.data(), found.value().secret.size());
  return keys;
}

// Poly1305 under a key that is kept is a universal hash: two bodies of at most n bytes have the
// same one with a probability of at most n / 2^107. It never leaves this function, except through a
// keyed BLAKE2b, which would take longer over the whole body than the cipher.
std::string Sealer::nonce_of(const Keys& keys, std::string_view bytes, std::string_view place) {
  std::array<unsigned char, tag_size> hash{};
  aead::poly1305(bytes, keys.hash, hash.data());
  std::string both(place);  // Of fixed size behind it: no other pair gives the same text.
  both.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  return keyed_hash(keys.nonce, both, nonce_size);
}

void Sealer::seal(std::string_view bytes, std::string_view place, std::string& out) const {
  const Keys* keys = nullptr;
  {
    const std::scoped_lock here(mutex_);
    keys = &keys_.at(id_);  // Never removed.
  }
  constexpr std::size_t most_heads = 32;
  const std::size_t box_size = nonce_size + bytes.size() + tag_size;
  out.clear();
  out.reserve(id_.size() + box_size + most_heads);
  cbor::put_head(out, cbor::map, 2);
  put_text(out, key_name);
  put_text(out, id_);
  put_text(out, box_name);
  cbor::put_head(out, cbor::text_string, box_size);
  const std::string nonce = nonce_of(*keys, bytes, place);
  out.append(nonce);
  const std::size_t begin = out.size();
  out.resize(begin + bytes.size() + tag_size);
  aead::seal(bytes, place, nonce, keys->sealing, bytes_of(out) + begin);
}

bool Sealer::is_newest(std::string_view sealed) const {
  const std::optional<Sealed> parts = parts_of(sealed);
  return parts && parts->key == id_;
}

Result<std::string> Sealer::open(std::string_view sealed, std::string_view place,
                                 UnknownKeys& unknown) {
  const std::optional<Sealed> parts = parts_of(sealed);
  if (!parts) return corrupt("it is not encrypted, although a key is set");
  TRIAGE_TRY(keys, keys_of(parts->key, unknown));
  const std::string_view box = parts->box;
  std::string bytes(box.size() - nonce_size - tag_size, '\0');
  if (aead::open(box.substr(nonce_size), place, box.substr(0, nonce_size), keys->sealing,
                 bytes_of(bytes))) {
    return outcome::success(std::move(bytes));
  }
  return corrupt("it was changed, or belongs to another place, or the key \"" +
                 std::string(parts->key) + "\" is another one");
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
  // A pipe that nobody writes into is empty, and keeps nobody waiting.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return failed(errno);
  struct stat facts {};
  std::array<char, 512> text{};
  const bool seen = ::fstat(file, &facts) == 0;
  const ssize_t size = detail::read_beginning(file, text);
  const int code = errno;
  ::close(file);
  if (!seen || size < 0) return failed(code);
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Error{Errc::invalid_argument, "the key file \"" + printable(path) +
                                             "\" can be read or written by others; chmod 600 it"};
  }
  auto key = parse_store_key({text.data(), static_cast<std::size_t>(size)});
  sodium_memzero(text.data(), text.size());
  if (!key) {
    return Error{key.error().code,
                 "the key file \"" + printable(path) + "\": " + key.error().detail};
  }
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
