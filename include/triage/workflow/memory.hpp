// SPDX-License-Identifier: MIT
#pragma once
// What agents of a workflow remember beyond their tasks, and the sources outside that they use.

#include "triage/attempt.hpp"
#include "triage/result.hpp"
#include "triage/workflow/message.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::workflow {

class Context;
namespace detail {
class Call;
}

struct MemoryOptions {
  // How many turns after this one (supersteps; in an eager workflow, steps along its edges) and how
  // long it is remembered. Both must be above 0 if set.
  std::optional<int> turns{};
  std::optional<std::chrono::milliseconds> time{};
};

struct Remembered {
  Json value{};
  std::string author{};  // Path of the executor that wrote it.
  int turn = 0;          // When it was written.
  WallTime written{};
};

// What is remembered under "agent/key", for all executors of the run, including nested ones. Writes
// become visible like those to Context::shared(), and two writers of one key in a superstep are a
// conflict. Each checkpoint has its own version: restoring, branching and rolling back restore
// exactly that, and writes of a failed delivery are discarded.
class Memory {
 public:
  // Empty if there is none or its lifetime is over. value() throws like Scope::value.
  [[nodiscard]] std::optional<Remembered> find(std::string_view key) const;
  template <JsonReadable T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const auto found = find(key);
    return found ? detail::exactly<T>(found->value, detail::named("memory", key))
                 : std::move(otherwise);
  }
  // Errors are sticky: see Scope::set; a lifetime of 0 or less is one.
  void set(std::string_view key, Json value, const MemoryOptions& options = {});
  void forget(std::string_view key);

 private:
  friend class Context;
  Memory(detail::Call* call, std::string scope) : call_(call), scope_(std::move(scope)) {}
  detail::Call* call_;
  std::string scope_;
};

// A source of knowledge outside the run. Its digest is stored, not its content, so that a continued
// run reports changes (event resource_changed).
struct Resource {
  std::string name{};    // 1 to 128 bytes, unique in the run.
  std::string kind{};    // Such as "file" or "index"; for display.
  std::string digest{};  // Of its content, as the program computes it; at most 256 bytes.
};

}  // namespace triage::inline v0_1::workflow
