// SPDX-License-Identifier: MIT
#pragma once
// What agents of a workflow remember beyond their tasks, and the sources outside that they use.

#include "triage/attempt.hpp"
#include "triage/result.hpp"

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
  // For how many turns (supersteps; in an eager workflow, steps along its edges) after this one,
  // and for how long, it is remembered. Both must be above 0 if they are given.
  std::optional<int> turns{};
  std::optional<std::chrono::milliseconds> time{};
};

struct Remembered {
  Json value{};
  std::string author{};  // The executor that wrote it: its path.
  int turn = 0;          // In which.
  WallTime written{};
};

// What is remembered under "agent/key", for all executors of the run, nested ones too. Writes are
// seen as those to Context::shared() are, and two writers of one key in one superstep are a
// conflict. Each checkpoint has its version of it: restoring, branching and rolling back bring back
// exactly that, and what a failed delivery has written is nowhere.
class Memory {
 public:
  // Nothing if there is nothing, or its lifetime is over.
  [[nodiscard]] std::optional<Remembered> find(std::string_view key) const;
  template <JsonReadable T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const auto found = find(key);
    return found ? found->value.template get<T>() : std::move(otherwise);
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

// Knowledge and other sources outside of the run. Their content is not stored; their digest is, so
// that whoever goes on learns that they are not what they were (event resource_changed).
struct Resource {
  std::string name{};    // 1 to 128 bytes, unique in the run.
  std::string kind{};    // Such as "file" or "index"; for people.
  std::string digest{};  // Of its content, as the program computes it; at most 256 bytes.
};

}  // namespace triage::inline v0_1::workflow
