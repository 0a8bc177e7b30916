// SPDX-License-Identifier: MIT
#pragma once
// For tests of executors with hooks: whether save() and restore() preserve everything.

#include "triage/workflow/executor.hpp"

#include <concepts>
#include <exception>
#include <string>

namespace triage::inline v0_1::testing {

// Restores what `used` saves into `fresh`, an executor that has not run yet, and compares what
// `fresh` then saves, and the executors themselves if they are comparable. Errors:
// Errc::invalid_argument if the saved value cannot be stored; Errc::conflict if something was lost;
// the hooks' own. Exceptions of the hooks are errors.
template <workflow::HasHooks T>
[[nodiscard]] Result<void> check_roundtrip(const T& used, T fresh) {
  try {
    const Json saved = used.save();
    if (auto checked = check_json(saved, "what save() gave"); !checked) return checked;
    // As if read back from a store.
    if (auto restored = fresh.restore(Json::from_cbor(Json::to_cbor(saved))); !restored) {
      return restored;
    }
    const Json again = fresh.save();
    if (again != saved) {
      return Error{Errc::conflict,
                   "saved, restored and saved again, " + show(saved) + " became " + show(again)};
    }
    if constexpr (std::equality_comparable<T>) {
      if (!(fresh == used)) {
        return Error{Errc::conflict,
                     "what was restored from " + show(saved) +
                         " saves the same, and is not equal: a member is not saved"};
      }
    }
  } catch (const std::exception& e) {
    return Error{Errc::conflict, std::string("a hook threw: ") + e.what()};
  }
  return outcome::success();
}
template <workflow::HasHooks T>
requires std::default_initializable<T>
[[nodiscard]] Result<void> check_roundtrip(const T& used) { return check_roundtrip(used, T{}); }

}  // namespace triage::inline v0_1::testing
