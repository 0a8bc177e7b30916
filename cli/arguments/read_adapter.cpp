// SPDX-License-Identifier: MIT
#include "read_adapter.hpp"

#include "installed.hpp"
#include "read_policy.hpp"
#include "triage/detail/try.hpp"

#ifdef TRIAGE_HAS_YAML
#include "triage/policies/yaml.hpp"
#endif

namespace triage::inline v0_1::cli {

Result<Json> read_adapter_text(std::string_view text) {
#ifdef TRIAGE_HAS_YAML
  return json_from_yaml(text, "the adapter");
#else
  Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!document.is_discarded()) return outcome::success(std::move(document));
  return Error{Errc::invalid_argument,
               "the adapter is not JSON, and this build of triage reads no YAML; "
               "--adapter generic goes without one"};
#endif
}

Result<std::string> adapter_of(const std::string& given, const std::string& program) {
  const bool is_file = given.find('/') != std::string::npos || given.ends_with(".yaml") ||
                       given.ends_with(".yml") || given.ends_with(".json");
  std::string asked = given;
  if (is_file) {
    TRIAGE_TRY(text, read_text_file(given));
    asked = std::move(text) + "\n";  // A newline distinguishes a document from a name.
  }
  const auto found =
      supervise::find_adapter(asked, program, installed("adapters"), &read_adapter_text);
  if (found) return outcome::success(std::move(asked));
  return Error{found.error().code,
               (is_file ? printable(given) + ": " : std::string()) + found.error().detail};
}

}  // namespace triage::inline v0_1::cli
