// SPDX-License-Identifier: MIT
#include "contract/schema_program.hpp"

#include "contract/schema_keywords.hpp"
#include "contract/schema_values.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

std::size_t count_of(const Json& number) { return static_cast<std::size_t>(number.get<double>()); }

// Compiles one node.
class Compiler {
 public:
  Compiler(const SchemaNodes& nodes, std::size_t node)
      : nodes_(nodes), node_(nodes.all()[node]), json_(*node_.json) {}

  // Rules about the value itself come first: they are cheapest and give the clearest errors.
  Result<CompiledSchema> compile() {
    value_rules();
    number_rules();
    size_rules();
    TRIAGE_TRYV(pattern_rule());
    TRIAGE_TRYV(object_rules());
    array_rules();
    combinations();
    unevaluated();
    return outcome::success(std::move(made_));
  }

 private:
  // The keyword's value if it is present and this draft knows it, else null.
  const Json* keyword(std::string_view name) const {
    const auto found = json_.find(name);
    return found != json_.end() && find_keyword(name, nodes_.draft()) != nullptr ? &*found
                                                                                 : nullptr;
  }
  std::size_t of(const Json* subschema) const {
    return subschema == nullptr ? SchemaRule::nothing : nodes_.of(*subschema);
  }
  SchemaRule& add(RuleKind kind, std::string_view keyword, const Json* value) {
    SchemaRule& rule = made_.rules.emplace_back();
    rule.kind = kind;
    rule.keyword = keyword;
    rule.value = value;
    return rule;
  }
  // Adds a rule if the keyword is present, else returns null.
  SchemaRule* add_if(RuleKind kind, std::string_view name) {
    const Json* value = keyword(name);
    return value == nullptr ? nullptr : &add(kind, name, value);
  }
  Result<std::shared_ptr<const re2::RE2>> compiled(const std::string& pattern,
                                                   const std::string& path) const {
    auto made = compile_pattern(pattern);
    if (made) return made;
    return schema_error(node_.path + path, "cannot be used: " + made.error().detail);
  }

  void value_rules();
  void number_rules();
  void size_rules();
  Result<void> pattern_rule();
  Result<void> object_rules();
  Result<void> members();
  void dependencies();
  void array_rules();
  void items();
  void combinations();
  void unevaluated();

  const SchemaNodes& nodes_;
  const SchemaNode& node_;
  const Json& json_;
  CompiledSchema made_{};
};

void Compiler::value_rules() {
  if (SchemaRule* rule = add_if(RuleKind::type, "type")) {
    const Json& types = *rule->value;
    for (const Json& name : types.is_array() ? types : Json::array({types})) {
      rule->types |= type_bit(name.get_ref<const std::string&>());
    }
  }
  if (SchemaRule* rule = add_if(RuleKind::one_of_values, "enum")) {
    for (const Json& value : *rule->value) rule->values.push_back(&value);
    std::sort(rule->values.begin(), rule->values.end(),
              [](const Json* a, const Json* b) { return order_of(*a, *b) < 0; });
  }
  if (SchemaRule* rule = add_if(RuleKind::one_of_values, "const")) {
    rule->values.push_back(rule->value);
  }
}

void Compiler::number_rules() {
  const auto bound = [&](std::string_view name, std::string_view exclusive, RuleKind kind,
                         RuleKind exclusive_kind) {
    const Json* limit = keyword(name);
    const Json* strict = keyword(exclusive);
    const bool flagged = strict != nullptr && strict->is_boolean();  // Draft 4.
    if (limit != nullptr) add(flagged && strict->get<bool>() ? exclusive_kind : kind, name, limit);
    if (strict != nullptr && !flagged) add(exclusive_kind, exclusive, strict);
  };
  bound("maximum", "exclusiveMaximum", RuleKind::maximum, RuleKind::exclusive_maximum);
  bound("minimum", "exclusiveMinimum", RuleKind::minimum, RuleKind::exclusive_minimum);
  add_if(RuleKind::multiple_of, "multipleOf");
}

void Compiler::size_rules() {
  struct Size {
    std::string_view most;
    std::string_view least;
    unsigned type;
  };
  static constexpr Size sizes[] = {{"maxItems", "minItems", type_array},
                                   {"maxProperties", "minProperties", type_object},
                                   {"maxLength", "minLength", type_string}};
  for (const Size& size : sizes) {
    if (SchemaRule* rule = add_if(RuleKind::most, size.most)) {
      rule->types = size.type;
      rule->most = count_of(*rule->value);
    }
    if (SchemaRule* rule = add_if(RuleKind::least, size.least)) {
      rule->types = size.type;
      rule->least = count_of(*rule->value);
    }
  }
}

Result<void> Compiler::pattern_rule() {
  if (SchemaRule* rule = add_if(RuleKind::pattern, "pattern")) {
    TRIAGE_TRY(pattern, compiled(rule->value->get_ref<const std::string&>(), "/pattern"));
    rule->patterned.emplace_back(std::move(pattern), SchemaRule::nothing);
  }
  return outcome::success();
}

Result<void> Compiler::object_rules() {
  if (SchemaRule* rule = add_if(RuleKind::required, "required")) {
    rule->names = rule->value->get<std::vector<std::string>>();
    if (const Json* known = keyword("properties")) {
      for (const auto& [name, schema] : known->items()) rule->members.emplace(name, of(&schema));
    }
  }
  if (SchemaRule* rule = add_if(RuleKind::property_names, "propertyNames")) {
    rule->others = of(rule->value);
  }
  TRIAGE_TRYV(members());
  dependencies();
  return outcome::success();
}

Result<void> Compiler::members() {
  const Json* named = keyword("properties");
  const Json* patterned = keyword("patternProperties");
  const Json* others = keyword("additionalProperties");
  if (named == nullptr && patterned == nullptr && others == nullptr) return outcome::success();
  SchemaRule& rule = named != nullptr ? add(RuleKind::members, "properties", named)
                     : patterned != nullptr
                         ? add(RuleKind::members, "patternProperties", patterned)
                         : add(RuleKind::members, "additionalProperties", others);
  rule.others = of(others);
  if (named != nullptr) {
    for (const auto& [name, schema] : named->items()) rule.members.emplace(name, of(&schema));
  }
  if (patterned == nullptr) return outcome::success();
  for (const auto& [pattern, schema] : patterned->items()) {
    TRIAGE_TRY(matcher, compiled(pattern, "/patternProperties/" + pointer_token(pattern)));
    rule.patterned.emplace_back(std::move(matcher), of(&schema));
  }
  return outcome::success();
}

void Compiler::dependencies() {
  for (const std::string_view name : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    const Json* wanted = keyword(name);
    if (wanted == nullptr) continue;
    SchemaRule names;
    SchemaRule schemas;
    for (const auto& [property, needed] : wanted->items()) {
      if (needed.is_array()) {
        names.dependent.emplace(property, needed.get<std::vector<std::string>>());
      } else {
        schemas.members.emplace(property, of(&needed));
      }
    }
    if (!names.dependent.empty()) {
      add(RuleKind::dependent_names, name, wanted).dependent = std::move(names.dependent);
    }
    if (!schemas.members.empty()) {
      add(RuleKind::dependent_schemas, name, wanted).members = std::move(schemas.members);
    }
  }
}

void Compiler::items() {
  const Json* items = keyword("items");
  const Json* first = keyword("prefixItems");
  const Json* others = items;
  std::string_view name = "items";
  if (first != nullptr) {
    name = "prefixItems";
  } else if (items != nullptr && items->is_array()) {
    first = items;
    others = keyword("additionalItems");
  }
  if (others != nullptr && others->is_array()) others = nullptr;  // Meaningless beside a prefix.
  if (first == nullptr && others == nullptr) return;
  if (items == nullptr && first == nullptr) return;  // additionalItems alone requires nothing.
  SchemaRule& rule = add(RuleKind::items, name, first != nullptr ? first : others);
  rule.others = of(others);
  if (first == nullptr) return;
  for (const Json& schema : *first) rule.schemas.push_back(of(&schema));
}

void Compiler::array_rules() {
  items();
  if (SchemaRule* rule = add_if(RuleKind::contains, "contains")) {
    rule->others = of(rule->value);
    rule->least = 1;
    if (const Json* least = keyword("minContains")) rule->least = count_of(*least);
    if (const Json* most = keyword("maxContains")) rule->most = count_of(*most);
  }
  if (const Json* unique = keyword("uniqueItems"); unique != nullptr && unique->get<bool>()) {
    add(RuleKind::unique_items, "uniqueItems", unique);
  }
}

void Compiler::combinations() {
  if (node_.reference != SchemaNode::none) {  // A sibling of other keywords, since draft 2019-09.
    add(RuleKind::all_of, "$ref", &json_.at("$ref")).schemas = {
        nodes_.all()[node_.reference].target};
  }
  if (node_.dynamic != SchemaNode::none) {
    SchemaRule& rule = add(RuleKind::dynamic_reference, "$dynamicRef", &json_.at("$dynamicRef"));
    rule.others = nodes_.all()[node_.dynamic].target;
    rule.names.push_back(node_.dynamic_anchor);
  }
  const auto list = [&](std::string_view name, RuleKind kind) {
    SchemaRule* rule = add_if(kind, name);
    if (rule == nullptr) return;
    for (const Json& schema : *rule->value) rule->schemas.push_back(of(&schema));
  };
  list("allOf", RuleKind::all_of);
  list("anyOf", RuleKind::any_of);
  list("oneOf", RuleKind::one_of);
  if (SchemaRule* rule = add_if(RuleKind::none_of, "not")) rule->schemas = {of(rule->value)};
  if (SchemaRule* rule = add_if(RuleKind::condition, "if")) {
    rule->schemas = {of(rule->value)};
    rule->others = of(keyword("then"));
    rule->otherwise = of(keyword("else"));
  }
}

// These depend on what the other rules evaluated, so they come last.
void Compiler::unevaluated() {
  if (SchemaRule* rule = add_if(RuleKind::unevaluated_items, "unevaluatedItems")) {
    rule->others = of(rule->value);
    made_.collects = true;
  }
  if (SchemaRule* rule = add_if(RuleKind::unevaluated_members, "unevaluatedProperties")) {
    rule->others = of(rule->value);
    made_.collects = true;
  }
}

}  // namespace

Result<std::vector<CompiledSchema>> compile_schema(const SchemaNodes& nodes) {
  std::vector<CompiledSchema> all(nodes.all().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const SchemaNode& node = nodes.all()[i];
    if (node.target != i) continue;
    if (node.json->is_boolean()) {
      all[i].constant = node.json->get<bool>();
      continue;
    }
    TRIAGE_TRY(compiled, Compiler(nodes, i).compile());
    all[i] = std::move(compiled);
  }
  return outcome::success(std::move(all));
}

}  // namespace triage::inline v0_1::detail
