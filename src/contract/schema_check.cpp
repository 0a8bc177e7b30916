// SPDX-License-Identifier: MIT
#include "contract/schema_check.hpp"

#include "contract/schema_keywords.hpp"
#include "contract/schema_values.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/saturate.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_expected = 400;
constexpr std::size_t longest_found = 200;
constexpr std::size_t most_nearest = 1'000;  // Names compared with a missing one.
constexpr std::size_t work_of_a_part = 16;   // What each part of the value allows.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::ptrdiff_t most_stack = 6 << 20;  // Its frames are several times larger.
#else
constexpr std::ptrdiff_t most_stack = 2 << 20;
#endif

// Which parts of a value a schema's rules have evaluated, for unevaluatedItems and
// unevaluatedProperties. Names are the value's member names.
struct Evaluated {
  bool all_members = false;
  bool all_items = false;
  std::size_t first_items = 0;
  std::set<std::string_view> members{};
  std::set<std::size_t> items{};

  [[nodiscard]] std::size_t size() const noexcept { return members.size() + items.size(); }
  void add(const Evaluated& other) {
    all_members |= other.all_members;
    all_items |= other.all_items;
    first_items = std::max(first_items, other.first_items);
    members.insert(other.members.begin(), other.members.end());
    items.insert(other.items.begin(), other.items.end());
  }
};

// One check of one value.
class Walk {
 public:
  Walk(const SchemaNodes& nodes, const std::vector<CompiledSchema>& schemas, std::size_t work_left)
      : nodes_(nodes), schemas_(schemas), work_left_(work_left) {}

  // Whether the value fits; `seen`, if given, receives what was evaluated.
  bool fits(std::size_t node, const Json& value, Evaluated* seen);
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
  [[nodiscard]] std::size_t work_left() const noexcept { return work_left_; }
  [[nodiscard]] const std::optional<SchemaBreach>& breach() const noexcept { return breach_; }

 private:
  struct Step {  // One level of the path into the value.
    const std::string* name = nullptr;
    std::size_t index = 0;
  };

  bool spend(std::size_t work = 1);
  bool spend_on(const Json& value) { return spend(1 + parts_of(value)); }
  bool holds(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool holds_about_itself(const SchemaRule& rule, const Json& value);
  bool size_fits(const SchemaRule& rule, const Json& value);
  bool names_fit(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool members_fit(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool items_fit(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool enough_contained(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool dependents_fit(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool some_fit(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool condition_fits(const SchemaRule& rule, const Json& value, Evaluated* seen);
  bool rest_fits(const SchemaRule& rule, const Json& value, Evaluated* seen);
  std::size_t dynamic_target(const SchemaRule& rule);
  // Check one part of the value.
  bool member_fits(std::size_t node, const std::string& name, const Json& member);
  bool item_fits(std::size_t node, std::size_t index, const Json& item);
  // A failure inside is not yet a breach: an alternative may fit.
  bool tried(std::size_t node, const Json& value, Evaluated* seen) {
    ++trials_;
    const bool fitted = fits(node, value, seen);
    --trials_;
    return fitted;
  }
  void tell(std::size_t node, const SchemaRule* rule, const Json& value);

  const SchemaNodes& nodes_;
  const std::vector<CompiledSchema>& schemas_;
  std::size_t work_left_;
  const char* stack_begin_ = static_cast<const char*>(__builtin_frame_address(0));
  bool exhausted_ = false;
  int trials_ = 0;
  std::vector<Step> path_{};
  std::vector<std::size_t> resources_{};  // The resources under check, outermost first.
  std::string nearest_{};
  std::optional<SchemaBreach> breach_{};
};

// Called before every rule and for every part of a value that it looks at: bounds the stack and
// the work.
bool Walk::spend(std::size_t work) {
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (work > work_left_ || std::abs(stack_begin_ - here) > most_stack) exhausted_ = true;
  if (exhausted_) return false;
  work_left_ -= work;
  return true;
}

bool Walk::fits(std::size_t node, const Json& value, Evaluated* seen) {
  if (!spend()) return false;
  const CompiledSchema& schema = schemas_[node];
  if (schema.constant) {
    if (!*schema.constant) tell(node, nullptr, value);
    return *schema.constant;
  }
  const std::size_t resource = nodes_.all()[node].resource;
  const bool entered = resources_.empty() || resources_.back() != resource;
  if (entered) resources_.push_back(resource);
  Evaluated here;
  Evaluated* looked_at = seen != nullptr || schema.collects ? &here : nullptr;
  bool fitted = true;
  for (const SchemaRule& rule : schema.rules) {
    fitted = spend() && holds(rule, value, looked_at);
    if (fitted) continue;
    tell(node, &rule, value);
    break;
  }
  if (entered) resources_.pop_back();
  if (fitted && seen != nullptr && spend(here.size())) seen->add(here);
  return fitted;
}

bool Walk::holds(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  switch (rule.kind) {
    case RuleKind::property_names:
    case RuleKind::required:
    case RuleKind::dependent_names: return names_fit(rule, value, seen);
    case RuleKind::members: return members_fit(rule, value, seen);
    case RuleKind::items: return items_fit(rule, value, seen);
    case RuleKind::contains: return enough_contained(rule, value, seen);
    case RuleKind::dependent_schemas: return dependents_fit(rule, value, seen);
    case RuleKind::all_of:
      return std::all_of(rule.schemas.begin(), rule.schemas.end(),
                         [&](std::size_t one) { return fits(one, value, seen); });
    case RuleKind::any_of:
    case RuleKind::one_of:
    case RuleKind::none_of: return some_fit(rule, value, seen);
    case RuleKind::condition: return condition_fits(rule, value, seen);
    case RuleKind::dynamic_reference: return fits(dynamic_target(rule), value, seen);
    case RuleKind::unevaluated_items:
    case RuleKind::unevaluated_members: return rest_fits(rule, value, seen);
    default: return holds_about_itself(rule, value);
  }
}

bool Walk::holds_about_itself(const SchemaRule& rule, const Json& value) {
  const auto compared = [&] { return value.is_number() ? order_of(value, *rule.value) : 0; };
  switch (rule.kind) {
    case RuleKind::type: return (types_of(value, nodes_.draft()) & rule.types) != 0;
    case RuleKind::one_of_values:
      if (!spend_on(value)) return false;
      return std::binary_search(rule.values.begin(), rule.values.end(), &value,
                                [](const Json* a, const Json* b) { return order_of(*a, *b) < 0; });
    case RuleKind::maximum: return compared() <= 0;
    case RuleKind::minimum: return compared() >= 0;
    case RuleKind::exclusive_maximum: return !value.is_number() || compared() < 0;
    case RuleKind::exclusive_minimum: return !value.is_number() || compared() > 0;
    case RuleKind::multiple_of: return !value.is_number() || is_multiple(value, *rule.value);
    case RuleKind::pattern:
      return !value.is_string() ||
             (spend_on(value) &&
              found_in(*rule.patterned.front().first, value.get_ref<const std::string&>()));
    case RuleKind::unique_items: return !value.is_array() || (spend_on(value) && are_unique(value));
    default: return size_fits(rule, value);
  }
}

bool Walk::size_fits(const SchemaRule& rule, const Json& value) {
  if ((types_of(value, nodes_.draft()) & rule.types) == 0) return true;
  if (value.is_string() && !spend_on(value)) return false;
  const std::size_t size =
      value.is_string() ? code_points(value.get_ref<const std::string&>()) : value.size();
  return rule.kind == RuleKind::most ? size <= rule.most : size >= rule.least;
}

bool Walk::names_fit(const SchemaRule& rule, const Json& value, Evaluated*) {
  if (!value.is_object()) return true;
  if (rule.kind == RuleKind::property_names) {
    for (auto member = value.begin(); member != value.end(); ++member) {
      if (!spend(1 + text_parts(member.key()))) return false;
      if (!tried(rule.others, Json(member.key()), nullptr)) return false;
    }
    return true;
  }
  const auto missing = [&](const std::vector<std::string>& names) {
    return std::find_if(names.begin(), names.end(),
                        [&](const std::string& name) { return !value.contains(name); });
  };
  if (rule.kind == RuleKind::dependent_names) {
    return std::all_of(rule.dependent.begin(), rule.dependent.end(), [&](const auto& one) {
      return spend(1 + one.second.size()) &&
             (!value.contains(one.first) || missing(one.second) == one.second.end());
    });
  }
  if (!spend(rule.names.size())) return false;
  const auto name = missing(rule.names);
  if (name == rule.names.end()) return true;
  if (trials_ == 0 && value.size() <= most_nearest) {  // A misspelt member may be the missing one.
    std::vector<std::string> unknown;
    for (auto member = value.begin(); member != value.end(); ++member) {
      if (!rule.members.contains(member.key())) unknown.push_back(member.key());
    }
    nearest_ = nearest(*name, unknown);
  }
  return false;
}

bool Walk::member_fits(std::size_t node, const std::string& name, const Json& member) {
  path_.push_back({.name = &name});
  const bool fitted = fits(node, member, nullptr);
  path_.pop_back();
  return fitted;
}

bool Walk::item_fits(std::size_t node, std::size_t index, const Json& item) {
  path_.push_back({.index = index});
  const bool fitted = fits(node, item, nullptr);
  path_.pop_back();
  return fitted;
}

bool Walk::members_fit(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  if (!value.is_object()) return true;
  for (auto member = value.begin(); member != value.end(); ++member) {
    const std::string& name = member.key();
    if (!spend(1 + text_parts(name))) return false;
    bool known = false;
    if (const auto own = rule.members.find(name); own != rule.members.end()) {
      known = true;
      if (!member_fits(own->second, name, *member)) return false;
    }
    for (const auto& [pattern, schema] : rule.patterned) {
      if (!spend(1 + text_parts(name))) return false;
      if (!found_in(*pattern, name)) continue;
      known = true;
      if (!member_fits(schema, name, *member)) return false;
    }
    if (!known && rule.others != SchemaRule::nothing) {
      known = true;
      if (trials_ == 0 && schemas_[rule.others].constant == false &&
          rule.members.size() <= most_nearest) {
        std::vector<std::string> names;
        for (const auto& [allowed, schema] : rule.members) names.push_back(allowed);
        nearest_ = nearest(name, names);
      }
      if (!member_fits(rule.others, name, *member)) return false;
    }
    if (known && seen != nullptr) seen->members.insert(name);
  }
  return true;
}

bool Walk::items_fit(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  if (!value.is_array()) return true;
  const std::size_t first = std::min(rule.schemas.size(), value.size());
  const std::size_t end = rule.others == SchemaRule::nothing ? first : value.size();
  for (std::size_t i = 0; i < end; ++i) {
    if (!item_fits(i < first ? rule.schemas[i] : rule.others, i, value[i])) return false;
  }
  if (seen != nullptr) {
    seen->first_items = std::max(seen->first_items, first);
    seen->all_items |= rule.others != SchemaRule::nothing;
  }
  return true;
}

bool Walk::enough_contained(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  if (!value.is_array()) return true;
  std::size_t found = 0;
  for (std::size_t i = 0; i < value.size() && !exhausted_; ++i) {
    if (!tried(rule.others, value[i], nullptr)) continue;
    ++found;
    if (seen != nullptr) {
      seen->items.insert(i);
    } else if (found >= rule.least && rule.most == SchemaRule::nothing) {
      return true;
    }
  }
  return found >= rule.least && found <= rule.most;
}

bool Walk::dependents_fit(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  if (!value.is_object()) return true;
  return std::all_of(rule.members.begin(), rule.members.end(), [&](const auto& one) {
    return spend() && (!value.contains(one.first) || fits(one.second, value, seen));
  });
}

// anyOf, oneOf, not.
bool Walk::some_fit(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  std::size_t found = 0;
  for (const std::size_t one : rule.schemas) {
    if (tried(one, value, rule.kind == RuleKind::none_of ? nullptr : seen)) ++found;
    if (exhausted_) return false;
    const bool settled = rule.kind == RuleKind::any_of ? found > 0 && seen == nullptr : found > 1;
    if (settled) break;
  }
  if (rule.kind == RuleKind::none_of) return found == 0;
  return rule.kind == RuleKind::any_of ? found > 0 : found == 1;
}

bool Walk::condition_fits(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  const bool met = tried(rule.schemas.front(), value, seen);
  const std::size_t next = met ? rule.others : rule.otherwise;
  return next == SchemaRule::nothing || tried(next, value, seen);
}

// unevaluatedItems, unevaluatedProperties: the parts that no other rule of this schema evaluated.
bool Walk::rest_fits(const SchemaRule& rule, const Json& value, Evaluated* seen) {
  if (rule.kind == RuleKind::unevaluated_items && value.is_array() && !seen->all_items) {
    for (std::size_t i = seen->first_items; i < value.size(); ++i) {
      if (!spend()) return false;
      if (!seen->items.contains(i) && !item_fits(rule.others, i, value[i])) return false;
    }
    seen->all_items = true;
  }
  if (rule.kind == RuleKind::unevaluated_members && value.is_object() && !seen->all_members) {
    for (auto member = value.begin(); member != value.end(); ++member) {
      if (!spend()) return false;
      if (!seen->members.contains(member.key()) &&
          !member_fits(rule.others, member.key(), *member)) {
        return false;
      }
    }
    seen->all_members = true;
  }
  return true;
}

// $dynamicRef: resolves to the outermost resource under check that has a matching $dynamicAnchor.
std::size_t Walk::dynamic_target(const SchemaRule& rule) {
  if (!rule.names.front().empty() && spend(resources_.size())) {
    for (const std::size_t resource : resources_) {
      const std::size_t found = nodes_.dynamic_anchor(resource, rule.names.front());
      if (found != SchemaNode::none) return found;
    }
  }
  return rule.others;
}

// Only the innermost broken rule is reported.
void Walk::tell(std::size_t node, const SchemaRule* rule, const Json& value) {
  if (trials_ > 0 || exhausted_ || breach_) return;
  SchemaBreach& breach = breach_.emplace();
  for (const Step& step : path_) {
    breach.path +=
        '/' + (step.name != nullptr ? pointer_token(*step.name) : std::to_string(step.index));
  }
  breach.schema_path = nodes_.all()[node].path;
  breach.expected = "nothing here";
  if (rule != nullptr) {
    const std::string keyword(rule->keyword);
    breach.schema_path += '/' + keyword;
    breach.expected = shortened(Json{{keyword, *rule->value}}, longest_expected);
  }
  breach.found = shortened(value, longest_found);
  const bool misnamed = rule == nullptr || rule->kind == RuleKind::required;
  if (misnamed) breach.nearest = nearest_;
}

}  // namespace

Result<SchemaChecker> SchemaChecker::make(const SchemaNodes& nodes) {
  TRIAGE_TRY(schemas, compile_schema(nodes));
  return outcome::success(SchemaChecker(nodes, std::move(schemas)));
}

Result<std::optional<SchemaBreach>> SchemaChecker::check(const Json& value,
                                                         std::size_t& rules_left) const {
  // What the value's size allows is spent before what checks share.
  Walk walk(*nodes_, schemas_, saturating_add(rules_left, work_of_a_part * parts_of(value)));
  const bool fits = walk.fits(nodes_->all().front().target, value, nullptr);
  rules_left = std::min(rules_left, walk.work_left());
  if (walk.exhausted()) {
    return Error{Errc::unsupported,
                 "checking the value against its schema takes too much work for its size, or more "
                 "than " +
                     std::to_string(most_stack >> 20) + " MB of stack"};
  }
  if (fits) return outcome::success(std::optional<SchemaBreach>{});
  return outcome::success(std::optional<SchemaBreach>(walk.breach()));
}

}  // namespace triage::inline v0_1::detail
