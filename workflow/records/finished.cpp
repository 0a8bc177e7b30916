// SPDX-License-Identifier: MIT
#include "finished.hpp"
#include "base/digest.hpp"
#include "base/json_words.hpp"
#include "triage/detail/try.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

// Under "v" as it is, or under "p" as a form (see Parts).
Json message_json(const Message& message, Shrunk& shrunk) {
  Json json{{"t", message.type}};
  if (shrunk.parts != nullptr && Parts::worth_it(message.json())) {
    json["p"] = shrunk.parts->shrink(message.json(), shrunk.fresh);
  } else {
    json["v"] = message.json();
  }
  return json;
}

Message message_from(const Parts& parts, const Json& json) {
  return {json.at("t").get<std::string>(), std::make_shared<const Json>(stored_value(parts, json))};
}

Result<Sent> sent_from(const Plan& plan, const Parts& parts, const Json& json) {
  Sent sent{message_from(parts, json), {}};
  for (const Json& along : json.at("to")) {
    const auto edge = plan.edge_of.find(along.at(0).get_ref<const std::string&>());
    const EdgeSpec* spec = edge == plan.edge_of.end() ? nullptr : plan.edges[edge->second].spec;
    const bool joined = spec != nullptr && spec->kind == EdgeSpec::Kind::fan_in;
    for (std::size_t i = 1; i < along.size(); ++i) {
      const auto target = along[i].get<std::size_t>();
      if (spec == nullptr || target >= (joined ? spec->sources : spec->targets).size()) {
        return Error{Errc::conflict, "a stored message went along edge " + show(along[0]) +
                                         ", which the workflow does not have"};
      }
      sent.routes.push_back({edge->second, target});
    }
  }
  return outcome::success(std::move(sent));
}

// Supersteps, occurrences and turns: far beyond what a run can reach, and safe to calculate with.
constexpr std::int64_t most_counted = 1'000'000'000;

std::int64_t whole_from(const Json& value, std::int64_t most) {
  const auto number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (number >= 0 && number <= most) return number;
  throw std::out_of_range("a number in it is " + show(value) + "; allowed is 0 to " +
                          std::to_string(most));
}

int count_from(const Json& value) { return static_cast<int>(whole_from(value, most_counted)); }

std::string scope_from(const Json& value) {
  auto scope = value.get<std::string>();
  if (!is_scope(scope)) throw std::invalid_argument("there is no scope " + show(value));
  return scope;
}

// What Memory::find() relies on.
void check_memory(const Json& value) {
  if (value.is_null()) return;
  constexpr auto latest = std::numeric_limits<std::int64_t>::max();
  static_cast<void>(value.at("value"));
  static_cast<void>(value.at("by").get_ref<const std::string&>());
  count_from(value.at("turn"));
  whole_from(value.at("at"), latest);
  if (value.contains("turns")) whole_from(value["turns"], std::numeric_limits<int>::max());
  if (value.contains("until")) whole_from(value["until"], latest);
}

Write write_from(const Parts& parts, const Json& json) {
  Write write{scope_from(json.at(0)), json.at(1).get<std::string>(),
              std::make_shared<const Json>(written_value(parts, json)), json.size() > 4};
  if (write.scope.rfind(memory_prefix, 0) == 0) check_memory(*write.value);
  return write;
}

Result<void> take_member(const Plan& plan, const Parts& parts, const std::string& key,
                         const Json& value, Finished& finished) {
  const auto elements = [&]() -> const Json::array_t& {
    return value.get_ref<const Json::array_t&>();
  };
  if (key == "in") {
    finished.input = value.get_ref<const std::string&>();
  } else if (key == "sent") {
    finished.sent.reserve(elements().size());
    for (const Json& one : elements()) {
      TRIAGE_TRY(sent, sent_from(plan, parts, one));
      finished.sent.push_back(std::move(sent));
    }
  } else if (key == "step") {
    finished.superstep = count_from(value);
  } else if (key == "from") {
    for (std::size_t i = 0; i + 1 < elements().size(); i += 2) {
      finished.from.emplace_back(value[i].get<std::string>(), count_from(value[i + 1]));
    }
  } else if (key == "out") {
    for (const Json& one : elements()) finished.outputs.push_back(message_from(parts, one));
  } else if (key == "wrote") {
    for (const Json& one : elements()) finished.writes.push_back(write_from(parts, one));
  } else if (key == "read") {
    finished.reads = reads_from(parts, value);
  } else if (key == "saved") {
    finished.saved = value;
  } else if (key == "kept") {
    finished.saved = parts.expand(value);
  } else if (key == "began") {
    finished.began = value.get<std::string>();
  } else if (key == "failed") {
    finished.failed = value.get<std::string>();
  } else if (key == "outdated") {
    finished.outdated = value.get<std::string>();
  } else if (key == "edited") {
    finished.edited = value.get<bool>();
  } else if (key == "routed") {
    finished.routed = value.get<bool>();
  } else if (key == "was") {
    finished.was = message_from(parts, value);
  }
  return outcome::success();
}

Result<Finished> parse(const Plan& plan, const Parts& parts, const Json& stored) {
  Finished finished;
  for (const auto& [key, value] : stored.get_ref<const Json::object_t&>()) {
    TRIAGE_TRYV(take_member(plan, parts, key, value, finished));
  }
  return outcome::success(std::move(finished));
}

}  // namespace

Finished begun_as(const Plan& plan, const Delivery& delivery, bool stored) {
  Finished finished{.superstep = delivery.superstep};
  if (!stored) return finished;
  finished.input = digest_of(delivery.message);
  for (const Origin& origin : delivery.from) {
    if (origin.node == from_outside) continue;
    finished.from.emplace_back(plan.nodes[origin.node].path, origin.occurrence);
  }
  return finished;
}

Message message_of_inputs(const Json& inputs) {
  const char* type = inputs.is_string()           ? "string"
                     : inputs.is_boolean()        ? "boolean"
                     : inputs.is_number_integer() ? "integer"
                     : inputs.is_number()         ? "number"
                     : inputs.is_array()          ? "list"
                                                  : "json";
  return {type, std::make_shared<const Json>(inputs)};
}

Message completed(Message message) {
  if (!message.value) message.value = std::make_shared<const Json>();
  if (message.type.empty()) message.type = type_name<Json>();
  return message;
}

std::string finished_key(const std::string& path, int occurrence) {
  return std::string(finished_prefix) + path + "/" + std::to_string(occurrence);
}

void begin_with_edits(Values& values, const State& state) {
  const Json* edits = state.find(edits_key);
  if (edits == nullptr || !edits->contains("state")) return;
  for (const auto& [key, value] : edits->at("state").items()) {
    values.begin_with(shared_scope("", ""), key, value);
  }
}

std::string digest_of(const JsonPtr& value) {
  return value ? triage::detail::digest(show(*value)).substr(0, 16) : std::string();
}
std::string digest_of(const Message& message) {
  return triage::detail::digest(message.type + "\n" + show(message.json())).substr(0, 16);
}
std::string digest_of_read(std::string_view scope, const JsonPtr& value) {
  if (scope.rfind(memory_prefix, 0) != 0 || !value || !value->is_object()) return digest_of(value);
  Json without_time = *value;
  without_time.erase("at");
  without_time.erase("until");
  return digest_of(std::make_shared<const Json>(std::move(without_time)));
}

std::string ReadDigests::of(std::string_view scope, std::string_view key, const JsonPtr& value) {
  if (!value) return {};
  const std::pair<std::string, std::string> place(scope, key);
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(place);
    if (found != known_.end() && found->second.value == value) return found->second.digest;
  }
  std::string digest = digest_of_read(scope, value);
  const std::scoped_lock lock(mutex_);
  known_[place] = {value, digest};
  return digest;
}

Json stored_value(const Parts& parts, const Json& message) {
  return message.contains("p") ? parts.expand(message.at("p")) : message.at("v");
}

Json written_value(const Parts& parts, const Json& write) {
  return write.size() == 4 ? parts.expand(write.at(3)) : write.at(2);
}

Json to_stored(const Plan& plan, const Finished& finished, Shrunk shrunk) {
  Json stored = Json::object();
  if (!finished.input.empty()) stored["in"] = finished.input;
  for (const Sent& sent : finished.sent) {
    Json json = message_json(sent.message, shrunk);
    Json& to = json["to"] = Json::array();
    // [edge, target, target, …]: a wide fan-out names its edge once.
    for (const Route& route : sent.routes) {
      const std::string& name = plan.edges[route.edge].name;
      if (to.empty() || to.back().front() != name) to.push_back(Json::array({name}));
      to.back().push_back(route.target);
    }
    stored["sent"].push_back(std::move(json));
  }
  for (const Message& message : finished.outputs) {
    stored["out"].push_back(message_json(message, shrunk));
  }
  for (const Write& write : finished.writes) {
    Json wrote = Json::array({write.scope, write.key, nullptr});
    if (write.value && shrunk.parts != nullptr && Parts::worth_it(*write.value)) {
      wrote.push_back(shrunk.parts->shrink(*write.value, shrunk.fresh));
    } else if (write.value) {
      wrote[2] = *write.value;
    }
    stored["wrote"].push_back(std::move(wrote));
  }
  if (!finished.reads.empty()) {
    Json reads = list_of_reads(finished.reads);
    const bool shrinks = shrunk.parts != nullptr && Parts::worth_it(reads);
    stored["read"] = shrinks ? shrunk.parts->shrink(reads, shrunk.fresh) : std::move(reads);
  }
  if (finished.saved && shrunk.parts != nullptr && Parts::worth_it(*finished.saved)) {
    stored["kept"] = shrunk.parts->shrink(*finished.saved, shrunk.fresh);
  } else if (finished.saved) {
    stored["saved"] = *finished.saved;
  }
  if (!finished.began.empty()) stored["began"] = finished.began;
  if (!finished.failed.empty()) stored["failed"] = finished.failed;
  if (!finished.outdated.empty()) stored["outdated"] = finished.outdated;
  if (finished.edited) stored["edited"] = true;
  if (finished.superstep != 0) stored["step"] = finished.superstep;
  for (const auto& [path, occurrence] : finished.from) {
    stored["from"].push_back(path);
    stored["from"].push_back(occurrence);
  }
  return stored;
}

Finished without_private(Finished finished, const std::string& scope) {
  finished.saved.reset();
  finished.began.clear();
  std::erase_if(finished.writes, [&](const Write& write) { return write.scope == scope; });
  std::erase_if(finished.reads, [&](const Read& read) { return read.scope == scope; });
  return finished;
}

Error damaged_key(std::string_view key, std::string_view what) {
  return {Errc::corrupt,
          "state key \"" + printable(key) + "\" is damaged: " + triage::detail::json_words(what)};
}
Error damaged_run(std::string_view run, std::string_view what) {
  return {Errc::corrupt,
          "run \"" + printable(run) + "\" is damaged: " + triage::detail::json_words(what)};
}

Result<Finished> from_stored(const Plan& plan, const Parts& parts, const std::string& key,
                             const Json& stored) {
  try {
    return parse(plan, parts, stored);
  } catch (const std::exception& e) {
    return damaged_key(key, e.what());
  }
}

}  // namespace triage::inline v0_1::workflow::detail
