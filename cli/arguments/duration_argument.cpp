// SPDX-License-Identifier: MIT
#include "duration_argument.hpp"

#include "triage/policies/duration.hpp"

namespace triage::inline v0_1::cli {

Result<Duration> duration_argument(const std::string& option, const std::string& value) {
  auto read = parse_duration(value);
  if (!read) return Error{read.error().code, option + ": " + read.error().detail};
  return read;
}

}  // namespace triage::inline v0_1::cli
