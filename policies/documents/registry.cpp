// SPDX-License-Identifier: MIT
#include "triage/policies/registry.hpp"

#include "documents/sections.hpp"

#include "triage/detail/joined.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <set>

namespace triage::inline v0_1 {
namespace {

constexpr std::string_view strategy_key = "strategy";

Error refused_at(std::string_view path, const std::string& text) {
  return {Errc::invalid_argument, std::string(path) + text};
}

// Names of failure types, "default", and those of the sections around the policy.
std::vector<std::string> top_level_keys(bool with_sections) {
  std::vector<std::string> names;
  for (const FailureType type : all_failure_types) names.emplace_back(to_string(type));
  names.emplace_back("default");
  if (with_sections) {
    names.insert(names.end(), detail::document_sections.begin(), detail::document_sections.end());
  }
  return names;
}

// Calls a factory, possibly a user's, and contains its exceptions.
Result<Strategy> made(const StrategyFactory& factory, const Json& arguments,
                      const StrategyRegistry& registry) {
  try {
    return factory(arguments, registry);
  } catch (const std::exception& e) {
    return Error{Errc::invalid_argument, std::string("the strategy's factory threw: ") + e.what()};
  } catch (...) {
    return Error{Errc::invalid_argument, "the strategy's factory threw something unknown"};
  }
}

Result<Strategy> named(const std::string& name, const Json& arguments, std::string_view path,
                       const StrategyRegistry& registry) {
  const StrategyFactory* factory = registry.find(name);
  if (factory != nullptr && !*factory) {
    return refused_at(path,
                      " names the strategy \"" + printable(name) + "\", whose factory is null");
  }
  if (factory == nullptr) {
    return refused_at(path, " names the strategy \"" + printable(name) +
                                "\", which does not exist" +
                                detail::allowed_names(printable(name), registry.names()));
  }
  auto strategy = made(*factory, arguments, registry);
  if (!strategy) {
    Error error = strategy.error();
    error.detail = detail::behind(path, error.detail);
    return error;
  }
  if (!strategy.value())
    return refused_at(path, ": the strategy \"" + printable(name) + "\" is empty");
  if (!strategy.value().problem().empty()) {
    return refused_at(path, "." + strategy.value().problem());
  }
  return strategy;
}

Error misplaced_key(const std::string& key, const Json& value, const StrategyRegistry& registry,
                    bool with_sections) {
  const std::vector<std::string> keys = top_level_keys(with_sections);
  const auto& sections = detail::document_sections;
  if (std::find(sections.begin(), sections.end(), key) != sections.end()) {
    return refused_at("", key + " is " + detail::shown(value) +
                              ", but only a whole document has \"" + key +
                              "\": read it with document_from_json, document_from_text or "
                              "document_from_yaml");
  }
  const std::vector<std::string> names = registry.names();
  const std::string where =
      printable(key) + " is " + detail::shown(value) + ", but \"" + printable(key) + "\" ";
  if (key == strategy_key || std::find(names.begin(), names.end(), key) != names.end()) {
    return refused_at("", where +
                              "stands at the top level, where only failure types may: write "
                              "{FAILURE_TYPE: {\"strategy\": NAME, …}}" +
                              detail::allowed_names(printable(key), keys));
  }
  return refused_at("", where + "is no failure type" + (with_sections ? " and no section" : "") +
                            "; an argument belongs in its strategy's object" +
                            detail::allowed_names(printable(key), keys));
}

// Thrown through the parser's callback and caught by the function that calls the parser.
struct BadText {
  std::string why;
};

// Follows the parser through nested objects; rejects duplicate keys, which nlohmann accepts.
class DuplicateCheck {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_json_depth)
      throw BadText{"is nested deeper than 256 levels, the most that is allowed"};
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw BadText{"has the key \"" + printable(key) +
                      "\" twice in one object; allowed is each key once"};
      }
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_{};
};

}  // namespace

StrategyRegistry& StrategyRegistry::add(std::string name, StrategyFactory factory) {
  factories_.insert_or_assign(std::move(name), std::move(factory));
  return *this;
}

const StrategyFactory* StrategyRegistry::find(std::string_view name) const {
  const auto found = factories_.find(name);
  return found == factories_.end() ? nullptr : &found->second;
}

std::vector<std::string> StrategyRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories_) {
    if (factory) names.push_back(name);
  }
  return names;
}

Result<Strategy> strategy_from_json(const nlohmann::json& value, const StrategyRegistry& registry,
                                    std::string_view path) {
  if (value.is_string()) {
    return named(value.get_ref<const std::string&>(), Json::object(), path, registry);
  }
  if (!value.is_object()) {
    return refused_at(path,
                      " is " + detail::shown(value) +
                          "; allowed is a strategy's name or an object {\"strategy\": NAME, …}");
  }
  const auto name = value.find(std::string(strategy_key));
  if (name == value.end()) {
    return refused_at(path,
                      ".strategy is missing; allowed are " + detail::joined(registry.names()));
  }
  if (!name->is_string()) {
    return refused_at(path,
                      ".strategy is " + detail::shown(*name) +
                          "; allowed is a strategy's name: " + detail::joined(registry.names()));
  }
  Json arguments = value;
  arguments.erase(std::string(strategy_key));
  return named(name->get_ref<const std::string&>(), arguments, path, registry);
}

Result<FailurePolicy> detail::policy_in(const nlohmann::json& document,
                                        const StrategyRegistry& registry, bool with_sections) {
  TRIAGE_TRYV(check_json(document, "the policy document"));
  if (!document.is_object()) {
    return refused_at("", "the policy document is " + detail::shown(document) +
                              "; allowed is an object from failure types to strategies");
  }
  if (document.empty()) {
    return refused_at("", (with_sections ? "the policy document names no strategy; allowed are "
                                         : "the policy document is empty; allowed are the keys ") +
                              detail::joined(top_level_keys(false)));
  }
  FailurePolicy policy;
  std::string problems;
  for (const auto& [key, value] : document.items()) {
    const auto type = parse_failure_type(key);
    if (!type && key != "default") {
      detail::add_problems(problems, misplaced_key(key, value, registry, with_sections).detail);
      continue;
    }
    auto strategy = strategy_from_json(value, registry, key);
    if (!strategy) {
      detail::add_problems(problems, strategy.error().detail);
    } else if (type) {
      policy.on(*type, std::move(strategy).value());
    } else {
      policy.otherwise(std::move(strategy).value());
    }
  }
  if (!problems.empty()) return Error{Errc::invalid_argument, problems};
  return outcome::success(std::move(policy));
}

Result<FailurePolicy> policy_from_json(const nlohmann::json& document,
                                       const StrategyRegistry& registry) {
  return detail::policy_in(document, registry, false);
}

Result<nlohmann::json> json_from_text(std::string_view text) {
  DuplicateCheck check;
  try {
    Json document = Json::parse(text, std::ref(check));
    return outcome::success(std::move(document));
  } catch (const BadText& bad) {
    return Error{Errc::invalid_argument, "the policy document " + bad.why};
  } catch (const Json::exception& e) {
    return Error{Errc::invalid_argument,
                 std::string("the policy document is not JSON: ") + printable(e.what())};
  }
}

Result<FailurePolicy> policy_from_text(std::string_view text, const StrategyRegistry& registry) {
  TRIAGE_TRY(document, json_from_text(text));
  return policy_from_json(document, registry);
}

}  // namespace triage::inline v0_1
