// SPDX-License-Identifier: MIT
#pragma once
// Encryption at rest: a decorator of any store, which then never sees a body in clear text.

#include "triage/compaction.hpp"
#include "triage/forwarding_store.hpp"

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// A key: 32 secret bytes, and a name that is stored in clear text beside the encrypted data.
struct StoreKey {
  std::string id{};      // 1 to 64 of A-Z a-z 0-9 . _ : -
  std::string secret{};  // 32 bytes.
};

// "ID HEX", where HEX is 64 hexadecimal digits, as printed by `openssl rand -hex 32`; surrounding
// whitespace is ignored. No error quotes the text.
// Errors: Errc::invalid_argument (wrong length or format).
[[nodiscard]] Result<StoreKey> parse_store_key(std::string_view text);
// Reads the key from a file. Errors: those of parse_store_key(), also if others than the owner may
// read the file; Errc::not_found, Errc::io.
[[nodiscard]] Result<StoreKey> store_key_in_file(const std::string& path);
// Reads the key from an environment variable. Errors: those of parse_store_key(); Errc::not_found.
[[nodiscard]] Result<StoreKey> store_key_in_environment(const char* variable);

struct EncryptionOptions {
  StoreKey key{};                 // Encrypts what is written.
  std::vector<StoreKey> older{};  // Other keys, for reading only.
  // Called with the id of any other key; null: there are none. Called from several threads, once
  // for each id it knows. If it throws, what needed the key fails with Errc::io.
  std::function<Result<StoreKey>(const std::string& id)> find{};
};

// The result of EncryptedStore::rotate().
struct KeyRotation {
  std::size_t runs = 0;     // Runs that had data under another key and now have none.
  std::size_t records = 0;  // Re-encrypted.
  std::size_t values = 0;
  std::vector<RunId> left{};  // In use, damaged, not reached before the stop, or not
                              // taken again by the store (a record that is too large).
};

// Encrypts the bodies of all records and the values of the key space (XChaCha20-Poly1305). A
// record's run, sequence, kind and time are authenticated with its body, so a changed or moved
// record counts as damaged; so does data that is not encrypted or whose key is unknown. Ids,
// agents, labels, kinds, times, key names and sizes stay in clear text. Deterministic: equal
// records give equal bytes, so a repeated append is recognised.
//
// Thread-safety: that of the inner store.
class EncryptedStore : public ForwardingStore, public CompactsRuns {
 public:
  // A CompactingStore goes around this one, not beneath it. Errors: Errc::invalid_argument (no
  // store, or a CompactingStore; a key with a wrong length or name; duplicate names).
  [[nodiscard]] static Result<std::shared_ptr<EncryptedStore>> around(
      std::shared_ptr<CheckpointStore> inner, EncryptionOptions options);

  // Finds out whether the keys are those of the store: succeeds if one of its runs can be
  // decrypted, or if none can be told to need another key, as in an empty store. Reads the first
  // record of the newest run, and of the others until one can be decrypted. Errors:
  // Errc::invalid_argument, which names what to do: its runs are in clear text, or under other
  // keys; those of the store.
  [[nodiscard]] Result<void> check_key();

  // Encrypts with the newest key what is stored under another one: run by run, a thousand records
  // or about 16 MB at a time, while others work. What was begun and not ended goes on where it
  // stopped. Values are those of the library; one in a space of the user's gets the new key when it
  // is written next. A value that is changed meanwhile is encrypted by whoever changes it. Errors:
  // Errc::unsupported (the store behind is no CompactsRuns); those of the store.
  [[nodiscard]] virtual Result<KeyRotation> rotate(std::stop_token stop = {}) = 0;
  // As for the inner store; Errc::unsupported if it is not a CompactsRuns.
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override = 0;

 protected:
  using ForwardingStore::ForwardingStore;
};

}  // namespace triage::inline v0_1
