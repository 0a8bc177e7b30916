// SPDX-License-Identifier: MIT
#pragma once
// What is removed from what a supervised program says, before it is stored or shown.

#include "supervise/spec.hpp"
#include "triage/redaction.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}  // namespace re2

namespace triage::inline v0_1::supervise {

// The texts in this process's environment that are secrets by the names of their variables: the
// program has them, too, so it may print them. Paths and short values are none.
[[nodiscard]] std::vector<std::string> secrets_of_environment();

// Removes what the run that is served asks for: first common secrets, before any run is known.
// Thread-safety: all members may be called from several threads at once.
class RunRedactor final : public Redactor {
 public:
  // known: texts that are secrets wherever they stand.
  explicit RunRedactor(std::vector<std::string> known = secrets_of_environment());
  ~RunRedactor() override;

  // From now on as this run was begun. Errors: Errc::invalid_argument for a pattern that is no RE2
  // expression; then nothing has changed.
  Result<void> set(const RunSpec& spec);

  [[nodiscard]] std::string text(std::string_view text) const override;
  [[nodiscard]] bool names_secret(std::string_view name) const override;

 private:
  struct Rules;
  [[nodiscard]] std::shared_ptr<const Rules> rules() const;

  const std::shared_ptr<const Redactor> common_;
  mutable std::mutex mutex_{};
  std::shared_ptr<const Rules> rules_{};
};

// The words of a command line as they may be shown: also without what stands behind an option whose
// name says that it is a secret.
[[nodiscard]] std::vector<std::string> without_secrets(const std::vector<std::string>& command,
                                                       const Redactor& redactor);

// The redactor that a stored run asks for by its task; null for a task that is none of `triage
// run`.
[[nodiscard]] std::shared_ptr<const Redactor> redactor_of(const Json& task);
// The task as it may be shown. redactor: null changes nothing.
[[nodiscard]] Json without_secrets(Json task, const std::shared_ptr<const Redactor>& redactor);

}  // namespace triage::inline v0_1::supervise
