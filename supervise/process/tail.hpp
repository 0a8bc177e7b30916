// SPDX-License-Identifier: MIT
#pragma once
// Keeps the last bytes of a stream as evidence, and finds an error in them.

#include "triage/failure.hpp"
#include "triage/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

class Tail {
 public:
  static constexpr std::size_t longest = 16U << 10U;

  void add(std::string_view bytes);
  // The newest `longest` bytes at most. Omits a line without its beginning, unless it is the only
  // one.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }  // Total bytes.

 private:
  std::string kept_{};
  std::uint64_t seen_ = 0;
};

// The newest line that is a JSON object reporting an error: {"error": "text"}, {"error":
// {"message", "type", "code" or "status"}}, {"type": "error", "message": …}. Returns the fields
// that a failure has.
[[nodiscard]] std::optional<Failure> last_json_error(std::string_view text);

// The error that an object reports, as above; empty if it reports none.
[[nodiscard]] std::optional<Failure> json_error(const Json& object);

}  // namespace triage::inline v0_1::supervise
