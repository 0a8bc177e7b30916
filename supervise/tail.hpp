// SPDX-License-Identifier: MIT
#pragma once
// The last bytes of a stream, kept as evidence, and the error they tell of.

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
  // At most `longest` bytes, the newest. A line whose beginning is lost is left out, unless there
  // is no other.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }  // Bytes in all.

 private:
  std::string kept_{};
  std::uint64_t seen_ = 0;
};

// The newest line of the text that is a JSON object and reports an error: {"error": "text"},
// {"error": {"message", "type", "code" or "status"}}, {"type": "error", "message": …}. Its fields,
// as far as a failure has them.
[[nodiscard]] std::optional<Failure> last_json_error(std::string_view text);

// From what an object reports as an error, as above; empty if it reports none.
[[nodiscard]] std::optional<Failure> json_error(const Json& object);

}  // namespace triage::inline v0_1::supervise
