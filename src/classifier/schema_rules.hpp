// SPDX-License-Identifier: MIT
#pragma once
// The rules that schema_check.cpp gives to valijson: every one is watched, and some are our own.
// Private to that file, the only one that sees valijson.

#include "classifier/schema_keywords.hpp"
#include "classifier/schema_pattern.hpp"
#include "triage/json_schema.hpp"

#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>
#include <valijson/validation_visitor.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

namespace rules = valijson::constraints;
using Target = valijson::adapters::NlohmannJsonAdapter;
using Context = std::vector<std::string>;
using Pattern = std::shared_ptr<const re2::RE2>;

inline constexpr std::ptrdiff_t most_stack = 2 << 20;

struct Place {
  std::size_t node = 0;
  std::string_view keyword{};  // Of static lifetime, or empty: the schema is `false`.
  // Some of its subschemas may fail although it holds, or the other way round.
  bool speculative = false;
};

struct Broken {
  Place place{};
  Context context{};
};

// One check of one value.
struct Watch {
  const Json& value;
  const char* stack_begin = nullptr;
  std::size_t& rules_left;
  std::optional<Broken> broken{};
  // What valijson would keep compiled patterns in; no pattern ever reaches it.
  std::unordered_map<std::string, std::basic_regex<char>> no_patterns{};
};

struct Exhausted {};  // Thrown through valijson, which has no other way out.

// The context, where valijson keeps the way to the value, is all that it hands through to a rule of
// ours. Its first element is ours to choose: it holds the address of the watch.
inline std::string as_context(Watch* watch) {
  std::string bytes(sizeof watch, '\0');
  std::memcpy(bytes.data(), &watch, sizeof watch);
  return bytes;
}

inline Watch& watch_of(const Context& context) {
  Watch* watch = nullptr;
  std::memcpy(&watch, context.front().data(), sizeof watch);
  return *watch;
}

inline valijson::ValidationVisitor<Target> visitor_of(const Target& target,
                                                      const Context& context) {
  return {target, context, true, nullptr, watch_of(context).no_patterns};
}

// Stack and work are looked at before every rule.
inline void spend(Watch& watch) {
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (watch.rules_left == 0 || std::abs(watch.stack_begin - here) > most_stack) throw Exhausted{};
  --watch.rules_left;
}

// One keyword of one subschema. All of valijson's rules are wrapped in one, so that it is known
// which one a value broke.
template <class Check>
class Rule final : public rules::PolyConstraint {
 public:
  Rule(const Place& place, Check check) : place_(place), check_(std::move(check)) {}

  bool validate(const valijson::adapters::Adapter& adapter, const Context& context,
                valijson::ValidationResults*) const override {
    Watch& watch = watch_of(context);
    spend(watch);
    // valijson goes on with the next member after a broken one: the first one is told.
    const bool was_broken = watch.broken.has_value();
    const bool holds = check_(dynamic_cast<const Target&>(adapter), context);
    if (was_broken) return holds;
    if (holds) {
      watch.broken.reset();  // What failed inside was speculation.
    } else if (place_.speculative || !watch.broken) {
      watch.broken = Broken{place_, context};
    }
    return holds;
  }

 private:
  rules::Constraint* cloneInto(void* memory) const override { return new (memory) Rule(*this); }
  std::size_t sizeOf() const override { return sizeof(Rule); }

  Place place_;
  Check check_;
};

inline std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

// Members, elements or characters.
inline double size_of(const Target& target) {
  std::string text;
  if (target.getString(text)) return static_cast<double>(code_points(text));
  return static_cast<double>(target.isArray() ? target.getArraySize() : target.getObjectSize());
}

inline unsigned types_of(const Target& target, Draft draft) {
  if (target.isNull()) return type_null;
  if (target.isBool()) return type_boolean;
  if (target.isString()) return type_string;
  if (target.isArray()) return type_array;
  if (target.isObject()) return type_object;
  if (target.isInteger()) return type_number | type_integer;
  double number = 0;
  if (!target.getDouble(number)) return 0;
  const bool whole =
      draft != Draft::draft4 && std::isfinite(number) && std::trunc(number) == number;
  return type_number | (whole ? type_integer : 0U);
}

inline bool is_multiple(const Target& target, double divisor) {
  if (!target.isNumber()) return true;
  const double number = target.getNumber();
  if (!std::isfinite(number)) return false;
  const double rest = std::fabs(std::remainder(number, divisor));
  if (std::trunc(divisor) == divisor) return rest == 0;
  // 0.0075 is a multiple of 0.0001 for everybody but a processor.
  return rest <= 1e-9 * divisor || rest <= 1e-15 * std::fabs(number);
}

// The part of the value that the context leads to.
inline const Json& part_at(const Json& value, const Context& context) {
  const Json* part = &value;
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string token = context[i].substr(1, context[i].size() - 2);
    part = part->is_array() ? &(*part)[std::stoul(token)] : &part->at(token);
  }
  return *part;
}

// A total order of values in which 1 is 1.0 and no integer is rounded: -1, 0 or 1. JSON's own
// operator< compares integers with doubles as doubles, which orders no three numbers beyond 2^53.
inline int order_of(const Json& a, const Json& b) {
  const auto sign = [](const auto& x, const auto& y) { return (y < x ? 1 : 0) - (x < y ? 1 : 0); };
  const auto kind = [](const Json& value) {
    return static_cast<int>(value.is_number() ? Json::value_t::number_float : value.type());
  };
  if (kind(a) != kind(b)) return sign(kind(a), kind(b));
  if (a.is_number()) {
    const auto exact = [](const Json& number) {  // 64 bits of mantissa, where we are built for.
      return number.is_number_unsigned()  ? static_cast<long double>(number.get<std::uint64_t>())
             : number.is_number_integer() ? static_cast<long double>(number.get<std::int64_t>())
                                          : static_cast<long double>(number.get<double>());
    };
    const long double x = exact(a);
    const long double y = exact(b);
    if (std::isnan(x) || std::isnan(y)) return sign(std::isnan(y), std::isnan(x));
    return sign(x, y);
  }
  if (!a.is_structured()) return sign(a, b);
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end(); ++x, ++y) {
    const int names = a.is_object() ? sign(x.key(), y.key()) : 0;
    if (names != 0) return names;
    if (const int values = order_of(*x, *y); values != 0) return values;
  }
  return sign(a.size(), b.size());
}

// valijson compares each with each.
inline bool are_unique(const Json& array) {
  std::vector<const Json*> elements;
  elements.reserve(array.size());
  for (const Json& element : array) elements.push_back(&element);
  std::sort(elements.begin(), elements.end(),
            [](const Json* a, const Json* b) { return order_of(*a, *b) < 0; });
  return std::adjacent_find(elements.begin(), elements.end(), [](const Json* a, const Json* b) {
           return order_of(*a, *b) == 0;
         }) == elements.end();
}

// properties, patternProperties and additionalProperties in one.
struct Members {
  std::map<std::string, const valijson::Subschema*> named{};
  std::vector<std::pair<Pattern, const valijson::Subschema*>> patterned{};
  const valijson::Subschema* others = nullptr;

  bool operator()(const Target& target, const Context& context) const {
    if (!target.isObject()) return true;
    for (const auto& member : target.getObject()) {
      Context below = context;
      below.push_back('[' + member.first + ']');
      auto visitor = visitor_of(member.second, below);
      bool known = false;
      if (const auto own = named.find(member.first); own != named.end()) {
        known = true;
        if (!visitor.validateSchema(*own->second)) return false;
      }
      for (const auto& [pattern, subschema] : patterned) {
        spend(watch_of(context));
        if (!found_in(*pattern, member.first)) continue;
        known = true;
        if (!visitor.validateSchema(*subschema)) return false;
      }
      if (!known && !visitor.validateSchema(*others)) return false;
    }
    return true;
  }
};

}  // namespace triage::inline v0_1::detail
