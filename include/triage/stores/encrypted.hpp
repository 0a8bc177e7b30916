// SPDX-License-Identifier: MIT
#pragma once
// Encryption at rest: a store in front of any other, which never sees a body in clear text.

#include "triage/forwarding_store.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// A key: 32 secret bytes, and a name that is stored in clear text beside what they protect.
struct StoreKey {
  std::string id{};      // 1 to 64 of A-Z a-z 0-9 . _ : -
  std::string secret{};  // 32 bytes.
};

// "ID HEX", where HEX is 64 hexadecimal digits, such as `openssl rand -hex 32` prints; spaces and
// line ends around them do not matter. No error quotes the text.
// Errors: Errc::invalid_argument (another length, another shape).
[[nodiscard]] Result<StoreKey> parse_store_key(std::string_view text);
// The same from a file. Errors: Errc::not_found, Errc::io; Errc::invalid_argument too if others
// than its owner may read it.
[[nodiscard]] Result<StoreKey> store_key_in_file(const std::string& path);
// The same from an environment variable. Errors: Errc::not_found too.
[[nodiscard]] Result<StoreKey> store_key_in_environment(const char* variable);

struct EncryptionOptions {
  StoreKey key{};                 // What is written is encrypted with it.
  std::vector<StoreKey> older{};  // What may still be read with another key.
  // Asked for a key that is none of these, by its id; null: there is none. Called from several
  // threads, once for every id that it knows.
  std::function<Result<StoreKey>(const std::string& id)> find{};
};

// Encrypts the bodies of all records and the values of the key space (XChaCha20-Poly1305). The run,
// the sequence, the kind and the time of a record are authenticated with its body, so that one that
// was changed, or moved to another place, is damaged. What is not encrypted, or with a key that is
// not known, is damaged too. Ids, agents, labels, kinds, times, names of keys and sizes stay in
// clear text. The same record gives the same bytes, so an append that comes again is known again.
//
// Thread-safety: that of the store behind it.
class EncryptedStore : public ForwardingStore {
 public:
  // Errors: Errc::invalid_argument (no store, a key of another length or name, two of one name).
  [[nodiscard]] static Result<std::shared_ptr<EncryptedStore>> around(
      std::shared_ptr<CheckpointStore> inner, EncryptionOptions options);

 protected:
  using ForwardingStore::ForwardingStore;
};

}  // namespace triage::inline v0_1
