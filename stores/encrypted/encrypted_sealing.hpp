// SPDX-License-Identifier: MIT
#pragma once
// Sealing bytes with a key, and opening them.

#include "triage/stores/encrypted.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_store_key(const StoreKey& key);

// What is authenticated together with a record's body, and with a value.
[[nodiscard]] std::string place_of(const RunId& run, const Record& record);
[[nodiscard]] std::string place_of(std::string_view space, std::string_view key);

// Thread-safety: all members may be called from several threads at once.
class Sealer {
 public:
  // The options have been checked.
  explicit Sealer(EncryptionOptions options);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  // Sets `out` to a CBOR map of the key's id and the sealed bytes. `place`: what is authenticated
  // with them. The same bytes in the same place give the same map; nothing random is used, so a
  // machine that is restored from a snapshot gives nothing away.
  void seal(std::string_view bytes, std::string_view place, std::string& out) const;
  // Whether it is sealed with the newest key.
  [[nodiscard]] bool is_newest(std::string_view sealed) const;
  // Ids of keys that EncryptionOptions::find did not know.
  using UnknownKeys = std::set<std::string, std::less<>>;
  // find is not asked again for those in `unknown`, to which others are added.
  // Errors: Errc::corrupt (not sealed, changed, moved, or an unknown key); Errc::io (find threw:
  // the bytes may be intact).
  [[nodiscard]] Result<std::string> open(std::string_view sealed, std::string_view place,
                                         UnknownKeys& unknown);

 private:
  // Derived from the key's secret, which is used for nothing else.
  struct Keys {
    std::string sealing{};
    std::string hash{};   // Poly1305, of the bytes.
    std::string nonce{};  // BLAKE2b, of the place and that hash.
  };
  [[nodiscard]] static Keys derived(const StoreKey& key);
  // Points into keys_, from which nothing is removed.
  [[nodiscard]] Result<const Keys*> keys_of(std::string_view id, UnknownKeys& unknown);
  // Recurs only with the same bytes in the same place.
  [[nodiscard]] static std::string nonce_of(const Keys& keys, std::string_view bytes,
                                            std::string_view place);

  const std::string id_;
  const std::function<Result<StoreKey>(const std::string& id)> find_;
  mutable std::mutex mutex_;  // Guards the members below.
  std::map<std::string, Keys, std::less<>> keys_{};
};

}  // namespace triage::inline v0_1::detail
