// SPDX-License-Identifier: MIT
#pragma once
// What is stored of a delivery that has finished: enough never to run it again.

#include "parts.hpp"
#include "values.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

struct Finished {
  std::string input{};  // Digest of the message; empty if nobody asked for it.
  std::vector<Sent> sent{};
  std::vector<Message> outputs{};  // Out of the run.
  std::vector<Write> writes{};
  // What was read, as read_name() says it → digest of what was there.
  std::map<std::string, std::string> reads{};
  std::optional<Json> saved{};  // What the executor's hook gave, if it changed.
  std::string failed{};         // It failed, this is why, and `sent` tells the others.
  bool edited = false;          // A person has changed what it sent or wrote.
  int superstep = 0;
  // Executor and occurrence of those whose messages it got; empty: from outside, or an old record.
  std::vector<std::pair<std::string, int>> from{};
};
// What is noted of a delivery, whatever becomes of it.
[[nodiscard]] Finished begun_as(const Plan& plan, const Delivery& delivery, bool stored);
// The inputs as the start executors get them.
[[nodiscard]] Message message_of_inputs(const Json& inputs);

// Reserved keys of the run's state. A value under finished_key() is one Finished.
inline constexpr std::string_view finished_prefix = "triage/done/";
inline constexpr std::string_view request_prefix = "triage/request/";
inline constexpr std::string_view answer_prefix = "triage/answer/";
inline constexpr std::string_view migrated_prefix = "triage/migrated/";  // By executor.
inline constexpr std::string_view timeline_key = "triage/timeline";      // Since the last restore.
inline constexpr std::string_view withheld_prefix = "triage/withheld/";  // By executor.
inline constexpr std::string_view resources_key = "triage/resources";
inline constexpr std::string_view rolled_back_key = "triage/rolled_back";  // The attempt since.
inline constexpr std::string_view root_key = "triage/root";    // Of a branch: the first origin.
inline constexpr std::string_view edits_key = "triage/edits";  // Of a branch.
inline constexpr std::string_view refuse_new = "refuse_new";   // Its "effects".
[[nodiscard]] std::string finished_key(const std::string& path, int occurrence);

// Without the values of this scope, and without what a hook gave.
[[nodiscard]] Finished without_private(Finished finished, const std::string& scope);

// Of a value of the state: the length of the scope tells where the key begins.
[[nodiscard]] std::string read_name(const std::string& scope, std::string_view key);
[[nodiscard]] std::pair<std::string, std::string> split_read(const std::string& name);

// A short hash of a value; "" for none.
[[nodiscard]] std::string digest_of(const JsonPtr& value);
[[nodiscard]] std::string digest_of(const Message& message);
// Of a value of the state as its readers see it: when something was remembered is left out, so that
// remembering the same again changes nothing for them.
[[nodiscard]] std::string digest_of_read(std::string_view scope, const JsonPtr& value);

// Where to_stored() puts large values, if they are to be stored once.
struct Shrunk {
  const Parts* parts = nullptr;
  Json& fresh;  // Gets the parts that are to be stored with it.
};
[[nodiscard]] Json to_stored(const Plan& plan, const Finished& finished, Shrunk shrunk);
// Errors: Errc::corrupt, or Errc::conflict if it names an edge that does not exist.
[[nodiscard]] Result<Finished> from_stored(const Plan& plan, const Parts& parts,
                                           const std::string& key, const Json& stored);
// Of a stored message. Throws std::exception if it is damaged.
[[nodiscard]] Json stored_value(const Parts& parts, const Json& message);

}  // namespace triage::inline v0_1::workflow::detail
