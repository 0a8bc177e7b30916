// SPDX-License-Identifier: MIT
// Whether a key is that of what is stored.
#include "triage/detail/sealed_record.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/encrypted.hpp"

#include <cstddef>
#include <initializer_list>
#include <optional>

namespace triage::inline v0_1 {

Result<void> EncryptedStore::check_key() {
  std::optional<Error> why;
  // The newest run nearly always tells.
  for (const std::size_t limit : std::initializer_list<std::size_t>{1, 0}) {
    TRIAGE_TRY(all, inner().runs({.limit = limit}));
    for (const RunInfo& run : all) {
      const auto sealed = inner().read(run.id, {1, 1});
      if (!sealed || sealed.value().records.empty()) continue;  // Damaged, or erased meanwhile.
      const auto opened = read(run.id, {1, 1});
      if (!opened && opened.error().code == Errc::not_found) continue;
      if (!opened) return opened.error();
      if (!opened.value().records.empty()) return outcome::success();
      if (why || opened.value().damaged.empty()) continue;
      if (!detail::is_sealed(sealed.value().records.front())) {
        why = Error{Errc::invalid_argument,
                    "a key is given, and the runs of this store are not encrypted: leave it out, "
                    "or copy them into an encrypted store (`triage checkpoint export`, and "
                    "`import` with the key)"};
      } else {
        why = Error{Errc::invalid_argument, "no run of this store can be read with this key: " +
                                                opened.value().damaged.front().error.detail +
                                                "; give the key that it was written with, also as "
                                                "an older one"};
      }
    }
  }
  if (why) return *why;
  return outcome::success();
}

}  // namespace triage::inline v0_1
