// SPDX-License-Identifier: MIT
#pragma once
// Sealing bytes with a key, and opening them.

#include "triage/stores/encrypted.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_store_key(const StoreKey& key);

// Thread-safety: all members may be called from several threads at once.
class Sealer {
 public:
  // The options have been checked.
  explicit Sealer(EncryptionOptions options);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  // A CBOR map of the key's id and the sealed bytes. `place`: what is authenticated with them. The
  // same bytes in the same place give the same map.
  [[nodiscard]] std::string seal(std::string_view bytes, std::string_view place) const;
  // Whether it is sealed with the newest key.
  [[nodiscard]] bool is_newest(std::string_view sealed) const;
  // Errors: Errc::corrupt (not sealed, changed, moved, or an unknown key).
  [[nodiscard]] Result<std::string> open(std::string_view sealed, std::string_view place);

 private:
  // Derived from the key's secret, which is used for nothing else.
  struct Keys {
    std::string sealing{};
    std::string nonce{};
  };
  [[nodiscard]] static Keys derived(const StoreKey& key);
  [[nodiscard]] Result<Keys> keys_of(const std::string& id);

  const std::string id_;
  const std::function<Result<StoreKey>(const std::string& id)> find_;
  mutable std::mutex mutex_;  // Guards the members below.
  std::map<std::string, Keys> keys_{};
};

}  // namespace triage::inline v0_1::detail
