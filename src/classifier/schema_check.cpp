// SPDX-License-Identifier: MIT
// Builds what valijson checks, and watches it while it does. valijson's own reading of schemas is
// not used: it mixes up `if` with what refers to it, follows references in circles, and names no
// places. Where its check cannot be trusted with any input, the check is our own: patterns (its
// matcher recurses once a character), sizes, multiples, uniqueness.
#include "classifier/schema_check.hpp"

#include "classifier/schema_rules.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_expected = 400;
constexpr std::size_t longest_found = 200;

std::string shortened(const Json& json, std::size_t longest) {
  std::string text = show(json);
  if (text.size() <= longest) return text;
  text.resize(longest);
  // Not in the middle of a character.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
    text.pop_back();
  }
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) text.pop_back();
  return text + "…";
}

Error bad_pattern(const std::string& path, const Error& error) {
  return schema_error(path, "cannot be used: " + error.detail);
}

class Checker final : public SchemaChecker {
 public:
  explicit Checker(const SchemaNodes& nodes) : nodes_(nodes) {}

  Result<void> build() {
    for (std::size_t i = 0; i < nodes_.all().size(); ++i) {
      subschemas_.push_back(schema_.createSubschema());
    }
    for (std::size_t i = 0; i < nodes_.all().size(); ++i) {
      if (nodes_.all()[i].target == i) {
        TRIAGE_TRYV(build_node(i));
      }
    }
    return outcome::success();
  }

  Result<std::optional<SchemaBreach>> check(const Json& value,
                                            std::size_t& rules_left) const override {
    Watch watch{.value = value,
                .stack_begin = static_cast<const char*>(__builtin_frame_address(0)),
                .rules_left = rules_left};
    try {
      auto visitor = visitor_of(Target(value), {as_context(&watch)});
      if (visitor.validateSchema(*subschemas_[nodes_.all().front().target])) {
        return outcome::success(std::optional<SchemaBreach>{});
      }
    } catch (const Exhausted&) {
      return Error{Errc::unsupported,
                   "checking the value against its schema takes too much work: more than " +
                       std::to_string(JsonSchema::most_rules) + " rules or " +
                       std::to_string(most_stack >> 20) + " MB of stack"};
    } catch (const std::exception& e) {
      return Error{Errc::unsupported, std::string("the value cannot be checked: ") + e.what()};
    }
    return outcome::success(std::optional<SchemaBreach>(told(watch)));
  }

 private:
  using Subschema = const valijson::Subschema*;

  Subschema of(const Json& json) const { return subschemas_[nodes_.of(json)]; }
  Subschema of(const Json* json) const { return json == nullptr ? anything() : of(*json); }
  Subschema anything() const { return schema_.emptySubschema(); }

  template <class Check>
  void add(const Place& place, Check check) {
    schema_.addConstraintToSubschema(Rule<Check>(place, std::move(check)), subschemas_[place.node]);
  }
  // A rule of valijson's.
  template <class Constraint>
  void add_theirs(const Place& place, Constraint constraint) {
    add(place, [theirs = std::make_shared<const Constraint>(std::move(constraint))](
                   const Target& target, const Context& context) {
      auto visitor = visitor_of(target, context);
      return theirs->accept(visitor);
    });
  }

  Result<void> build_node(std::size_t node);
  Result<void> build_text_rules(std::size_t node, const Json& json);
  void build_value_rules(std::size_t node, const Json& json);
  void build_number_rules(std::size_t node, const Json& json);
  void build_size_rules(std::size_t node, const Json& json);
  void build_array_rules(std::size_t node, const Json& json);
  Result<void> build_object_rules(std::size_t node, const Json& json);
  Result<void> build_members(std::size_t node, const Json& json);
  void build_dependencies(std::size_t node, const Json& json);
  void build_combinations(std::size_t node, const Json& json);
  // The keyword's value if this draft knows it, else null.
  const Json* keyword(const Json& json, const char* name) const {
    const auto found = json.find(name);
    return found != json.end() && find_keyword(name, nodes_.draft()) != nullptr ? &*found : nullptr;
  }
  SchemaBreach told(const Watch& watch) const;

  const SchemaNodes& nodes_;
  valijson::Schema schema_{};
  std::vector<Subschema> subschemas_{};
};

Result<void> Checker::build_node(std::size_t node) {
  const Json& json = *nodes_.all()[node].json;
  if (json.is_boolean()) {
    if (!json.get<bool>()) add({node}, [](const Target&, const Context&) { return false; });
    return outcome::success();
  }
  // What looks at the value itself comes first: it costs least and says most.
  build_value_rules(node, json);
  build_number_rules(node, json);
  build_size_rules(node, json);
  TRIAGE_TRYV(build_text_rules(node, json));
  TRIAGE_TRYV(build_object_rules(node, json));
  build_array_rules(node, json);
  build_dependencies(node, json);
  build_combinations(node, json);
  return outcome::success();
}

void Checker::build_value_rules(std::size_t node, const Json& json) {
  if (const Json* types = keyword(json, "type")) {
    unsigned allowed = 0;
    for (const Json& name : types->is_array() ? *types : Json::array({*types})) {
      allowed |= type_bit(name.get_ref<const std::string&>());
    }
    add({node, "type"}, [allowed, draft = nodes_.draft()](const Target& target, const Context&) {
      return (types_of(target, draft) & allowed) != 0;
    });
  }
  if (const Json* values = keyword(json, "enum")) {
    rules::EnumConstraint constraint;
    for (const Json& value : *values) constraint.addValue(Target(value));
    add_theirs({node, "enum"}, std::move(constraint));
  }
  if (const Json* value = keyword(json, "const")) {
    rules::ConstConstraint constraint;
    constraint.setValue(Target(*value));
    add_theirs({node, "const"}, std::move(constraint));
  }
}

void Checker::build_number_rules(std::size_t node, const Json& json) {
  const auto bound = [&](const char* name, const char* exclusive, auto constraint, auto set,
                         auto set_exclusive) {
    const Json* limit = keyword(json, name);
    const Json* strict = keyword(json, exclusive);
    if (limit != nullptr) {
      auto one = constraint;
      set(one, limit->get<double>());
      set_exclusive(one, strict != nullptr && strict->is_boolean() && strict->get<bool>());
      add_theirs({node, name}, std::move(one));
    }
    if (strict != nullptr && strict->is_number()) {
      set(constraint, strict->get<double>());
      set_exclusive(constraint, true);
      add_theirs({node, exclusive}, std::move(constraint));
    }
  };
  bound(
      "maximum", "exclusiveMaximum", rules::MaximumConstraint(),
      [](auto& constraint, double limit) { constraint.setMaximum(limit); },
      [](auto& constraint, bool strict) { constraint.setExclusiveMaximum(strict); });
  bound(
      "minimum", "exclusiveMinimum", rules::MinimumConstraint(),
      [](auto& constraint, double limit) { constraint.setMinimum(limit); },
      [](auto& constraint, bool strict) { constraint.setExclusiveMinimum(strict); });
  if (const Json* divisor = keyword(json, "multipleOf")) {
    add({node, "multipleOf"}, [by = divisor->get<double>()](const Target& target, const Context&) {
      return is_multiple(target, by);
    });
  }
}

void Checker::build_size_rules(std::size_t node, const Json& json) {
  struct Size {
    const char* name;
    bool (*holds)(const Target& target, double limit);
  };
  static constexpr Size sizes[] = {
      {"maxItems", [](const Target& t, double n) { return !t.isArray() || size_of(t) <= n; }},
      {"minItems", [](const Target& t, double n) { return !t.isArray() || size_of(t) >= n; }},
      {"maxProperties", [](const Target& t, double n) { return !t.isObject() || size_of(t) <= n; }},
      {"minProperties", [](const Target& t, double n) { return !t.isObject() || size_of(t) >= n; }},
      {"maxLength", [](const Target& t, double n) { return !t.isString() || size_of(t) <= n; }},
      {"minLength", [](const Target& t, double n) { return !t.isString() || size_of(t) >= n; }},
  };
  for (const Size& size : sizes) {
    const Json* limit = keyword(json, size.name);
    if (limit == nullptr) continue;
    add({node, size.name}, [holds = size.holds, n = limit->get<double>()](
                               const Target& target, const Context&) { return holds(target, n); });
  }
}

Result<void> Checker::build_text_rules(std::size_t node, const Json& json) {
  const Json* pattern = keyword(json, "pattern");
  if (pattern == nullptr) return outcome::success();
  auto compiled = compile_pattern(pattern->get_ref<const std::string&>());
  if (!compiled) return bad_pattern(nodes_.all()[node].path + "/pattern", compiled.error());
  add({node, "pattern"},
      [matcher = std::move(compiled).value()](const Target& target, const Context&) {
        std::string text;
        return !target.getString(text) || found_in(*matcher, text);
      });
  return outcome::success();
}

void Checker::build_array_rules(std::size_t node, const Json& json) {
  const Json* items = keyword(json, "items");
  const Json* others = keyword(json, "additionalItems");
  if (const Json* prefix = keyword(json, "prefixItems")) {
    others = items;
    items = prefix;
  }
  if (items != nullptr && items->is_array()) {
    rules::LinearItemsConstraint constraint;
    for (const Json& item : *items) constraint.addItemSubschema(of(item));
    constraint.setAdditionalItemsSubschema(of(others));
    add_theirs({node, items == keyword(json, "items") ? "items" : "prefixItems"},
               std::move(constraint));
  } else if (items != nullptr) {
    rules::SingularItemsConstraint constraint;
    constraint.setItemsSubschema(of(*items));
    add_theirs({node, "items"}, std::move(constraint));
  }
  // How many must fit is asked by keywords of later drafts, which are not checked.
  const bool counted = json.contains("minContains") || json.contains("maxContains");
  if (const Json* wanted = keyword(json, "contains"); wanted != nullptr && !counted) {
    rules::ContainsConstraint constraint;
    constraint.setSubschema(of(*wanted));
    add_theirs({node, "contains", true}, std::move(constraint));
  }
  if (const Json* unique = keyword(json, "uniqueItems"); unique != nullptr && unique->get<bool>()) {
    add({node, "uniqueItems"}, [](const Target& target, const Context& context) {
      return !target.isArray() || are_unique(part_at(watch_of(context).value, context));
    });
  }
}

Result<void> Checker::build_object_rules(std::size_t node, const Json& json) {
  if (const Json* names = keyword(json, "required")) {
    rules::RequiredConstraint constraint;
    for (const Json& name : *names) constraint.addRequiredProperty(name.get<std::string>().c_str());
    add_theirs({node, "required"}, std::move(constraint));
  }
  if (const Json* names = keyword(json, "propertyNames")) {
    add({node, "propertyNames", true},
        [schema = of(*names)](const Target& target, const Context& context) {
          if (!target.isObject()) return true;
          for (const auto& member : target.getObject()) {
            const Json name(member.first);
            if (!visitor_of(Target(name), context).validateSchema(*schema)) return false;
          }
          return true;
        });
  }
  return build_members(node, json);
}

Result<void> Checker::build_members(std::size_t node, const Json& json) {
  const Json* named = keyword(json, "properties");
  const Json* patterned = keyword(json, "patternProperties");
  const Json* others = keyword(json, "additionalProperties");
  if (named == nullptr && patterned == nullptr && others == nullptr) return outcome::success();
  if (patterned == nullptr) {
    rules::PropertiesConstraint constraint;
    if (named != nullptr) {
      for (const auto& [name, schema] : named->items()) {
        constraint.addPropertySubschema(name.c_str(), of(schema));
      }
    }
    constraint.setAdditionalPropertiesSubschema(of(others));
    add_theirs({node, named != nullptr ? "properties" : "additionalProperties"},
               std::move(constraint));
    return outcome::success();
  }
  Members members{.others = of(others)};
  if (named != nullptr) {
    for (const auto& [name, schema] : named->items()) members.named.emplace(name, of(schema));
  }
  for (const auto& [pattern, schema] : patterned->items()) {
    auto compiled = compile_pattern(pattern);
    if (!compiled) {
      return bad_pattern(nodes_.all()[node].path + "/patternProperties/" + pointer_token(pattern),
                         compiled.error());
    }
    members.patterned.emplace_back(std::move(compiled).value(), of(schema));
  }
  add({node, "patternProperties"}, std::move(members));
  return outcome::success();
}

void Checker::build_dependencies(std::size_t node, const Json& json) {
  for (const char* name : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    const Json* wanted = keyword(json, name);
    if (wanted == nullptr) continue;
    rules::DependenciesConstraint constraint;
    for (const auto& [property, needed] : wanted->items()) {
      if (needed.is_array()) {
        constraint.addPropertyDependencies(property, needed.get<std::vector<std::string>>());
      } else {
        constraint.addSchemaDependency(property, of(needed));
      }
    }
    add_theirs({node, name}, std::move(constraint));
  }
}

void Checker::build_combinations(std::size_t node, const Json& json) {
  const auto list = [&](const char* name, auto constraint, bool speculative) {
    const Json* schemas = keyword(json, name);
    if (schemas == nullptr) return;
    for (const Json& schema : *schemas) constraint.addSubschema(of(schema));
    add_theirs({node, name, speculative}, std::move(constraint));
  };
  list("allOf", rules::AllOfConstraint(), false);
  list("anyOf", rules::AnyOfConstraint(), true);
  list("oneOf", rules::OneOfConstraint(), true);
  if (const Json* refused = keyword(json, "not")) {
    rules::NotConstraint constraint;
    constraint.setSubschema(of(*refused));
    add_theirs({node, "not", true}, std::move(constraint));
  }
  if (const Json* condition = keyword(json, "if")) {
    rules::ConditionalConstraint constraint;
    constraint.setIfSubschema(of(*condition));
    constraint.setThenSubschema(of(keyword(json, "then")));
    constraint.setElseSubschema(of(keyword(json, "else")));
    add_theirs({node, "if", true}, std::move(constraint));
  }
}

SchemaBreach Checker::told(const Watch& watch) const {
  SchemaBreach breach;
  if (!watch.broken) return breach;
  const auto& [place, context] = *watch.broken;
  const SchemaNode& node = nodes_.all()[place.node];
  for (std::size_t i = 1; i < context.size(); ++i) {
    breach.path += '/' + pointer_token(context[i].substr(1, context[i].size() - 2));
  }
  breach.schema_path = node.path;
  breach.expected = "nothing here";
  if (!place.keyword.empty()) {
    const std::string keyword(place.keyword);
    breach.schema_path += '/' + keyword;
    breach.expected = shortened(Json{{keyword, node.json->at(keyword)}}, longest_expected);
  }
  breach.found = shortened(part_at(watch.value, context), longest_found);
  return breach;
}

}  // namespace

Result<std::unique_ptr<const SchemaChecker>> SchemaChecker::make(const SchemaNodes& nodes) {
  try {
    auto checker = std::make_unique<Checker>(nodes);
    TRIAGE_TRYV(checker->build());
    return outcome::success(std::unique_ptr<const SchemaChecker>(std::move(checker)));
  } catch (const std::exception& e) {
    return Error{Errc::invalid_argument, std::string("the schema cannot be used: ") + e.what()};
  }
}

}  // namespace triage::inline v0_1::detail
