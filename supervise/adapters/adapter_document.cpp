// SPDX-License-Identifier: MIT
#include "supervise/adapters/adapter_document.hpp"

#include "triage/detail/joined.hpp"
#include "triage/policies/duration.hpp"

#include <functional>
#include <map>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

// Thrown while reading and caught by the function that started it.
struct BadDocument {
  std::string why;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw BadDocument{(path.empty() ? "the adapter" : path) + " " + why};
}

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

using Readers = std::map<std::string, std::function<void(const Json&, const std::string& path)>>;

// Passes each value to its key's reader; refuses other keys.
void read_object(const Json& object, const std::string& path, const Readers& readers) {
  if (!object.is_object()) refuse(path, "is not an object");
  for (const auto& [key, value] : object.items()) {
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      refuse(below(path, printable(key)),
             "is not known; allowed are " + detail::joined(readers, &Readers::value_type::first));
    }
    reader->second(value, below(path, key));
  }
}

std::string text_of(const Json& value, const std::string& path) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    refuse(path, "is not text, or an empty one");
  }
  return value.get<std::string>();
}

std::vector<std::string> texts_of(const Json& value, const std::string& path) {
  std::vector<std::string> texts;
  if (!value.is_array()) refuse(path, "is not a list of texts");
  for (const Json& one : value) texts.push_back(text_of(one, path));
  return texts;
}

FailureType type_of(const Json& value, const std::string& path) {
  const auto type = parse_failure_type(text_of(value, path));
  if (!type) refuse(path, "names no failure type");
  return *type;
}

auto into(std::string& text) {
  return [&text](const Json& value, const std::string& path) { text = text_of(value, path); };
}

auto into(std::vector<std::string>& texts) {
  return [&texts](const Json& value, const std::string& path) { texts = texts_of(value, path); };
}

// A path, or {text: literal}.
auto into(Source& source) {
  return [&source](const Json& value, const std::string& path) {
    if (value.is_object()) {
      read_object(value, path, {{"text", into(source.literal)}});
    } else {
      source.path = parse_path(text_of(value, path));
    }
  };
}

// One or more paths.
auto into(std::vector<Path>& paths) {
  return [&paths](const Json& value, const std::string& path) {
    if (value.is_string()) {
      paths.push_back(parse_path(text_of(value, path)));
    } else {
      for (const std::string& one : texts_of(value, path)) paths.push_back(parse_path(one));
    }
  };
}

// {PATH: VALUE}, {PATH: [VALUE, …]}, {PATH: {not: VALUE}}, {PATH: {has: TEXT}}, {PATH: {present:
// true or false}}.
Condition condition_of(const std::string& key, const Json& value, const std::string& path) {
  Condition condition{.path = parse_path(key)};
  const auto add = [&condition](const Json& one) {
    if (one.is_array()) {
      condition.values.insert(condition.values.end(), one.begin(), one.end());
    } else {
      condition.values.push_back(one);
    }
  };
  if (!value.is_object()) {
    add(value);
    return condition;
  }
  read_object(value, path,
              {{"not",
                [&](const Json& one, const std::string&) {
                  condition.kind = Condition::Kind::none_of;
                  add(one);
                }},
               {"has",
                [&](const Json& one, const std::string& at) {
                  condition.kind = Condition::Kind::has;
                  if (one.is_string()) text_of(one, at);
                  if (!one.is_string()) texts_of(one, at);
                  add(one);
                }},
               {"present", [&](const Json& one, const std::string& at) {
                  if (!one.is_boolean()) refuse(at, "is neither true nor false");
                  condition.kind =
                      one.get<bool>() ? Condition::Kind::present : Condition::Kind::absent;
                }}});
  return condition;
}

auto into(std::vector<Condition>& conditions) {
  return [&conditions](const Json& value, const std::string& path) {
    if (!value.is_object()) refuse(path, "is not an object of paths and values");
    for (const auto& [key, wanted] : value.items()) {
      conditions.push_back(condition_of(key, wanted, below(path, key)));
    }
  };
}

auto into(std::optional<StepRule>& rule) {
  return [&rule](const Json& value, const std::string& path) {
    StepRule& step = rule.emplace();
    read_object(value, path,
                {{"id", into(step.id)},
                 {"tool", into(step.tool)},
                 {"input", into(step.input)},
                 {"output", into(step.output)},
                 {"said", into(step.said)},
                 {"failed", into(step.failed)}});
  };
}

auto into(std::optional<FailureRule>& rule) {
  return [&rule](const Json& value, const std::string& path) {
    FailureRule& failure = rule.emplace();
    read_object(value, path,
                {{"text", into(failure.text)},
                 {"code", into(failure.code)},
                 {"http_status", into(failure.http_status)},
                 {"resets_at", into(failure.resets_at)},
                 {"retry_after", into(failure.retry_after)},
                 {"type", [&failure](const Json& one,
                                     const std::string& at) { failure.type = type_of(one, at); }},
                 {"reason", into(failure.reason)}});
  };
}

void read_totals(const Json& value, const std::string& path, UsageRule::RunningTotals& totals) {
  for (const std::string& name : texts_of(value, path)) {
    if (name == "input_tokens") {
      totals.input_tokens = true;
    } else if (name == "output_tokens") {
      totals.output_tokens = true;
    } else if (name == "cost_usd") {
      totals.cost_usd = true;
    } else {
      refuse(path, "names \"" + printable(name) +
                       "\"; allowed are cost_usd, input_tokens, output_tokens");
    }
  }
}

auto into(std::optional<UsageRule>& rule) {
  return [&rule](const Json& value, const std::string& path) {
    UsageRule& usage = rule.emplace();
    read_object(value, path,
                {{"input_tokens", into(usage.input_tokens)},
                 {"output_tokens", into(usage.output_tokens)},
                 {"cost_usd", into(usage.cost_usd)},
                 {"calls", into(usage.calls)},
                 {"totals", [&usage](const Json& one, const std::string& at) {
                    read_totals(one, at, usage.totals);
                  }}});
  };
}

EventRule event_of(const Json& value, const std::string& path) {
  EventRule rule;
  read_object(
      value, path,
      {{"when", into(rule.when)},
       {"each", [&rule](const Json& one,
                        const std::string& at) { rule.each = parse_path(text_of(one, at)); }},
       {"where", into(rule.where)},
       {"session", into(rule.session)},
       {"call", into(rule.call)},
       {"result", into(rule.result)},
       {"step", into(rule.step)},
       {"failure", into(rule.failure)},
       {"usage", into(rule.usage)},
       {"busy", [&rule](const Json& one,
                        const std::string& at) { rule.busy = parse_path(text_of(one, at)); }},
       {"end", [&rule](const Json& one, const std::string& at) {
          const std::string how = text_of(one, at);
          if (how != "finished" && how != "failed") {
            refuse(at, "is neither finished nor failed");
          }
          rule.end = how == "finished" ? StreamEnd::finished : StreamEnd::failed;
        }}});
  if (rule.when.empty()) refuse(below(path, "when"), "is missing");
  return rule;
}

void read_command(const Json& value, const std::string& path, CommandRule& command) {
  read_object(value, path,
              {{"needs", into(command.needs)},
               {"subcommands", into(command.subcommands)},
               {"others", into(command.others)},
               {"nested", into(command.nested)},
               {"newest", into(command.newest)},
               {"values", into(command.values)},
               {"lists", into(command.lists)},
               {"prompt_after", into(command.prompt_after)}});
}

void read_resume(const Json& value, const std::string& path, ResumeRule& resume) {
  read_object(value, path,
              {{"after",
                [&resume](const Json& types, const std::string& at) {
                  for (const std::string& one : texts_of(types, at)) {
                    resume.after.push_back(type_of(one, at));
                  }
                }},
               {"unless", into(resume.unless)},
               {"without", into(resume.without)},
               {"arguments", into(resume.arguments)},
               {"prompt", into(resume.prompt)},
               {"lost", into(resume.lost)}});
  if (resume.arguments.empty()) refuse(below(path, "arguments"), "is missing");
  if (resume.prompt.empty()) refuse(below(path, "prompt"), "is missing");
}

Duration duration_at(const Json& value, const std::string& path) {
  const auto length = parse_duration(text_of(value, path));
  if (!length) refuse(path, "is not a duration: " + length.error().detail);
  return length.value();
}

Adapter read_adapter(const Json& document) {
  Adapter adapter;
  bool versioned = false;
  read_object(document, "",
              {{"adapter",
                [&versioned](const Json& value, const std::string& path) {
                  if (value != 1) refuse(path, "is another version of this format; allowed is 1");
                  versioned = true;
                }},
               {"name", into(adapter.name)},
               {"programs", into(adapter.programs)},
               {"events_with", into(adapter.events_with)},
               {"stays_with", into(adapter.stays_with)},
               {"linger",
                [&adapter](const Json& value, const std::string& path) {
                  adapter.linger = duration_at(value, path);
                }},
               {"linger_busy",
                [&adapter](const Json& value, const std::string& path) {
                  adapter.linger_busy = duration_at(value, path);
                }},
               {"events",
                [&adapter](const Json& value, const std::string& path) {
                  if (!value.is_array()) refuse(path, "is not a list of rules");
                  for (const Json& one : value) {
                    adapter.events.push_back(
                        event_of(one, path + "[" + std::to_string(adapter.events.size()) + "]"));
                  }
                }},
               {"command",
                [&adapter](const Json& value, const std::string& path) {
                  read_command(value, path, adapter.command);
                }},
               {"resume",
                [&adapter](const Json& value, const std::string& path) {
                  read_resume(value, path, adapter.resume.emplace());
                }},
               {"again", into(adapter.again)},
               {"again_without", into(adapter.again_without)},
               {"model_option", into(adapter.model_option)}});
  if (!versioned) refuse("adapter", "is missing; allowed is 1");
  if (adapter.name.empty()) refuse("name", "is missing");
  return adapter;
}

}  // namespace

Result<Adapter> adapter_from_json(const Json& document) {
  try {
    return outcome::success(read_adapter(document));
  } catch (const BadDocument& bad) {
    return Error{Errc::invalid_argument, bad.why};
  }
}

}  // namespace triage::inline v0_1::supervise
