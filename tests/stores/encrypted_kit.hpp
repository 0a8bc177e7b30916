// SPDX-License-Identifier: MIT
#pragma once
// Encrypted stores with keys that tests can tell apart.

#include "triage/stores/encrypted.hpp"

#include <memory>
#include <string>
#include <utility>

namespace triage::test {

inline StoreKey key_of(const std::string& id, char byte) { return {id, std::string(32, byte)}; }

inline std::shared_ptr<CheckpointStore> encrypted(const std::shared_ptr<CheckpointStore>& inner,
                                                  EncryptionOptions options = {
                                                      .key = key_of("one", 'a')}) {
  return EncryptedStore::around(inner, std::move(options)).value();
}

inline Record change(Sequence seq) {
  return {seq, RecordKind::state_changed, WallTime(std::chrono::milliseconds(seq)),
          std::make_shared<const Json>(Json{{"page", seq}})};
}

}  // namespace triage::test
