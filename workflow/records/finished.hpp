// SPDX-License-Identifier: MIT
#pragma once
// The stored form of a finished delivery: enough never to run it again.

#include "definition/parts.hpp"
#include "definition/state_keys.hpp"
#include "reads.hpp"
#include "values.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

struct Finished {
  std::string input{};  // Digest of the message; empty if not needed.
  std::vector<Sent> sent{};
  std::vector<Message> outputs{};  // Outputs of the run.
  std::vector<Write> writes{};
  std::vector<Read> reads{};    // In this order; each value once.
  std::optional<Json> saved{};  // The hook's result, if it changed.
  // Hash of the hook's result that it began with; empty: no hook, or a record of an earlier
  // version.
  std::string began{};
  std::string failed{};  // Why it failed, if it did; `sent` informs the others.
  // If it failed: a hash of what it had left behind before that, which no longer counted.
  std::string outdated{};
  bool edited = false;           // A person has changed what it sent or wrote.
  bool routed = false;           // … but not what it sent.
  std::optional<Message> was{};  // What it had sent in place of an edited message.
  int superstep = 0;
  // Executor and occurrence of its messages' senders; empty: from outside, or an old record.
  std::vector<std::pair<std::string, int>> from{};
};
// What is recorded of a delivery in any case.
[[nodiscard]] Finished begun_as(const Plan& plan, const Delivery& delivery, bool stored);
// The inputs as the message to the start executors.
[[nodiscard]] Message message_of_inputs(const Json& inputs);
// A message as a program made it, which may lack its value, a null, or its type.
[[nodiscard]] Message completed(Message message);

// The key of a Finished.
[[nodiscard]] std::string finished_key(const std::string& path, int occurrence);
// Calls found(rest of the key, value) for each key of the state that begins so, in their order.
template <class Found>
void each_of(const State& state, std::string_view prefix, const Found& found) {
  if (state.empty()) return;
  const State::Values& values = *state.values();
  for (auto one = values.lower_bound(prefix);
       one != values.end() && one->first.rfind(prefix, 0) == 0; ++one) {
    found(one->first.substr(prefix.size()), *one->second);
  }
}

// Without the values of this scope and without the hook's result.
[[nodiscard]] Finished without_private(Finished finished, const std::string& scope);

// What the edits of a branch have put where nobody had written before.
void begin_with_edits(Values& values, const State& state);

// A short hash of a value; "" for none.
[[nodiscard]] std::string digest_of(const JsonPtr& value);
[[nodiscard]] std::string digest_of(const Message& message);
// Of a value of the state as its readers see it: without the time at which something was
// remembered, so that remembering the same again changes nothing for them.
[[nodiscard]] std::string digest_of_read(std::string_view scope, const JsonPtr& value);

// The same; a value that many read is hashed once. Thread-safety: may be called at any time.
class ReadDigests {
 public:
  [[nodiscard]] std::string of(std::string_view scope, std::string_view key, const JsonPtr& value);

 private:
  struct Known {
    JsonPtr value{};  // The newest that was read.
    std::string digest{};
  };
  std::mutex mutex_{};
  std::map<std::pair<std::string, std::string>, Known> known_{};
};

// Where to_stored() puts large values that should be stored once.
struct Shrunk {
  const Parts* parts = nullptr;
  Json& fresh;  // Receives the parts to be stored with it.
};
[[nodiscard]] Json to_stored(const Plan& plan, const Finished& finished, Shrunk shrunk);
// Errors: Errc::corrupt, or Errc::conflict if it names an edge that does not exist.
[[nodiscard]] Result<Finished> from_stored(const Plan& plan, const Parts& parts,
                                           const std::string& key, const Json& stored);
// Errc::corrupt, for what an exception says about a key of the state, or about a run.
[[nodiscard]] Error damaged_key(std::string_view key, std::string_view what);
[[nodiscard]] Error damaged_run(std::string_view run, std::string_view what);
// Of a stored write: [scope, key, value], [scope, key, null, form], or, of an edit that no reducer
// combines, [scope, key, value, null, true]. Throws std::exception if it is damaged.
[[nodiscard]] Json written_value(const Parts& parts, const Json& write);
// The value of a stored message. Throws std::exception if it is damaged.
[[nodiscard]] Json stored_value(const Parts& parts, const Json& message);

}  // namespace triage::inline v0_1::workflow::detail
