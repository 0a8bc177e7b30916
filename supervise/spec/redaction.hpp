// SPDX-License-Identifier: MIT
#pragma once
// Removes secrets from a supervised program's output before it is stored or shown.

#include "supervise/spec/spec.hpp"
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

// The values in this process's environment that are secrets by their variables' names: the program
// has them too and may print them. Excludes paths and short values.
[[nodiscard]] std::vector<std::string> secrets_of_environment();

// Redacts as the current run asks; before any run is known, common secrets. Thread-safety: all
// members may be called from several threads at once.
class RunRedactor final : public Redactor {
 public:
  // known: texts that are always secret.
  explicit RunRedactor(std::vector<std::string> known = secrets_of_environment());
  ~RunRedactor() override;

  // Redacts as this run specifies from now on. Errors: Errc::invalid_argument for an invalid RE2
  // expression, which leaves everything unchanged.
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

// A command line's words for display, also without values of options whose names mark them as
// secret.
[[nodiscard]] std::vector<std::string> without_secrets(const std::vector<std::string>& command,
                                                       const Redactor& redactor);

// The redactor specified by a stored run's task; null if it is not a task of `triage run`.
[[nodiscard]] std::shared_ptr<const Redactor> redactor_of(const Json& task);
// The task for display. redactor: null changes nothing.
[[nodiscard]] Json without_secrets(Json task, const std::shared_ptr<const Redactor>& redactor);

}  // namespace triage::inline v0_1::supervise
