// SPDX-License-Identifier: MIT
#pragma once
// The checkpoints of triage-agent, the Python library, as they lie in its own stores.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// One checkpoint as triage-agent keeps it: whole, with all steps so far.
struct ReferenceCheckpoint {
  std::string id{};      // Unique in its store; a UUID unless its maker chose another text.
  double timestamp = 0;  // Seconds since 1970, UTC; orders the checkpoints of a run.
  std::string run{};     // Empty: it belongs to no run.
  Json state{};          // An object.
  Json trajectory{};     // An array of steps, each an object.
};

// A SQLite file or a Redis server that triage-agent writes to.
// Thread-safety: none.
class ReferenceStore {
 public:
  // Given each checkpoint, or instead of one that cannot be read Errc::corrupt, which names it.
  using Visit = std::function<Result<void>(Result<ReferenceCheckpoint>)>;

  ReferenceStore() = default;
  virtual ~ReferenceStore() = default;
  ReferenceStore(const ReferenceStore&) = delete;
  ReferenceStore& operator=(const ReferenceStore&) = delete;

  // Calls `visit` once for each checkpoint, those of one run oldest first. Ends with the first
  // error of `visit`, and returns it. Errors: Errc::io, Errc::busy, Errc::corrupt (other tables).
  [[nodiscard]] virtual Result<void> visit(const Visit& visit) = 0;
  // Adds one. It is there for others once finish() has returned. Errors: Errc::conflict if one with
  // this id is there with another content; Errc::io, Errc::busy.
  [[nodiscard]] virtual Result<void> add(const ReferenceCheckpoint& checkpoint) = 0;
  // Keeps what was added. What was added and not kept is gone with this object.
  [[nodiscard]] virtual Result<void> finish() = 0;
};

namespace detail {

// For stores: a text as Python's json module writes it. `what` and `id` name it in the error.
// Errors: Errc::corrupt (no JSON, or beyond our limits).
[[nodiscard]] Result<Json> parse_reference(const std::string& id, const char* what,
                                           std::string_view text);
// Errors: Errc::corrupt if the state is no object or the trajectory no array of objects.
[[nodiscard]] Result<void> check_reference(const ReferenceCheckpoint& checkpoint);
// The same checkpoint as triage-agent sees it, whatever the spelling of its JSON.
[[nodiscard]] bool same_reference(const ReferenceCheckpoint& one, const ReferenceCheckpoint& other);
// As Python's json module reads it. Bytes that are no UTF-8 become U+FFFD, numbers that are not
// finite null.
[[nodiscard]] std::string reference_text(const Json& value);

}  // namespace detail

}  // namespace triage::inline v0_1
