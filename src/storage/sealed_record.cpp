// SPDX-License-Identifier: MIT
#include "triage/detail/sealed_record.hpp"

namespace triage::inline v0_1::detail {

bool is_sealed(const Record& record) {
  const auto body = record.body();
  return body && body.value().is_object() && body.value().size() == 2 &&
         body.value().contains("key") && body.value().contains("sealed");
}

// The first record is conclusive: its member names are ours, unlike those of a state.
Result<void> check_not_sealed(const JournalReading& reading) {
  if (reading.records.empty() || !is_sealed(reading.records.front())) return outcome::success();
  return Error{Errc::unsupported,
               "run \"" + reading.info.id +
                   "\" is encrypted, so it can only be changed with its key: through an "
                   "EncryptedStore, or with --key-file or TRIAGE_KEY_FILE"};
}

}  // namespace triage::inline v0_1::detail
