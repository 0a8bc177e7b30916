// SPDX-License-Identifier: MIT
#include "parts.hpp"
#include "base/digest.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow::detail {
namespace {

// A part costs about 90 bytes besides its content.
constexpr std::size_t smallest_part = 512;
// Texts that share their first bytes may be prefixes of each other.
constexpr std::size_t head_bytes = 256;
constexpr std::size_t most_lengths = 32;
constexpr int deepest = 2 * triage::detail::max_body_depth;

// Names contain no ":", so the hashed text is unambiguous.
std::string name_of(std::string_view kind, std::string_view content) {
  std::string text(kind);
  text += ':';
  text += content;
  return triage::detail::short_digest(text);
}

std::string encoded(const Json& value) {
  std::string bytes;
  triage::detail::encode_cbor(value, bytes);
  return bytes;
}

std::string key_of(const std::string& name) { return std::string(part_prefix) + name; }
Json reference(const std::string& name) { return Json::object({{"", name}}); }

// Deducts a value's approximate size from `left`; false once nothing is left.
bool fits(const Json& value, std::size_t& left) {
  const auto take = [&](std::size_t bytes) {
    left = bytes > left ? 0 : left - bytes;
    return left > 0;
  };
  if (value.is_string()) return take(2 + value.get_ref<const std::string&>().size());
  if (!value.is_structured()) return take(5);
  for (const auto& [key, element] : value.items()) {
    if (!take(value.is_object() ? 2 + key.size() : 1) || !fits(element, left)) return false;
  }
  return take(2);
}

// A name for each prefix of the list; the last is the whole list's.
std::vector<std::string> names_of_beginnings(const Json& list) {
  std::vector<std::string> names;
  names.reserve(list.size());
  for (const Json& element : list) {
    names.push_back(name_of(names.empty() ? "list" : names.back(), encoded(element)));
  }
  return names;
}

}  // namespace

bool Parts::worth_it(const Json& value) {
  std::size_t left = smallest_part;
  return !fits(value, left);
}

void Parts::begin_with(const State& state) {
  state_ = state;
  if (state.empty()) return;
  const State::Values& values = *state.values();
  for (auto one = values.lower_bound(part_prefix);
       one != values.end() && one->first.rfind(part_prefix, 0) == 0; ++one) {
    names_.insert(one->first.substr(part_prefix.size()));
  }
  // A text's length is known once that of its beginning is.
  std::set<std::string, std::less<>> seen;
  for (const std::string& name : names_) {
    std::vector<std::pair<std::string, const Json*>> chain;
    std::string next = name;
    for (const Json* part = text_part(next); part != nullptr && seen.insert(next).second;
         part = text_part(next)) {
      chain.emplace_back(next, part);
      next = part->value("b", std::string());
    }
    for (auto one = chain.rbegin(); one != chain.rend(); ++one)
      learn_text(one->first, *one->second);
  }
}

// Null for parts of other kinds and damaged ones, which are reported when they are needed.
const Json* Parts::text_part(const std::string& name) const {
  const Json* part = state_.find(key_of(name));
  if (part == nullptr || !part->is_object()) return nullptr;
  const auto text = part->find("t");
  const auto base = part->find("b");
  const bool whole =
      text != part->end() && text->is_string() && (base == part->end() || base->is_string());
  return whole ? part : nullptr;
}

void Parts::learn_text(const std::string& name, const Json& part) {
  const auto& added = part.at("t").get_ref<const std::string&>();
  Text text{added.size(), ""};
  if (const auto base = texts_.find(part.value("b", std::string())); base != texts_.end()) {
    text = {base->second.length + added.size(), base->second.head};
  } else if (!part.contains("b")) {
    text.head = name_of("head", std::string_view(added).substr(0, head_bytes));
  }
  if (text.head.empty()) return;
  auto& lengths = lengths_[text.head];
  lengths.push_back(text.length);
  if (lengths.size() > most_lengths) lengths.pop_front();
  texts_.insert_or_assign(name, std::move(text));
}

Json Parts::of(const Json& patch) {
  Json parts = Json::object();
  for (auto one = patch.begin(); one != patch.end(); ++one) {
    if (one.key().rfind(part_prefix, 0) == 0) parts[one.key()] = *one;
  }
  return parts;
}

void Parts::learn(const Json& stored) {
  if (stored.empty()) return;
  const std::unique_lock lock(mutex_);
  for (auto one = stored.begin(); one != stored.end(); ++one) {
    const std::string name = one.key().substr(part_prefix.size());
    if (names_.insert(name).second && one->contains("t")) learn_text(name, *one);
  }
}

bool Parts::knows(const std::string& name, const Json& fresh) const {
  const std::shared_lock lock(mutex_);
  return names_.contains(name) || fresh.contains(key_of(name));
}

Json Parts::shrink(const Json& value, Json& fresh) const {
  if (value.is_object()) return shrink_object(value, fresh);
  if (value.is_string() && value.get_ref<const std::string&>().size() >= smallest_part) {
    return shrink_text(value.get_ref<const std::string&>(), fresh);
  }
  if (!value.is_array()) return value;
  if (worth_it(value)) return shrink_list(value, fresh);
  Json form = Json::array();
  for (const Json& element : value) form.push_back(shrink(element, fresh));
  return form;
}

Json Parts::shrink_text(const std::string& text, Json& fresh) const {
  const std::string name = name_of("text", text);
  if (knows(name, fresh)) return reference(name);
  std::deque<std::size_t> lengths;
  {
    const std::shared_lock lock(mutex_);
    const std::string_view head = std::string_view(text).substr(0, head_bytes);
    const auto found = lengths_.find(name_of("head", head));
    if (found != lengths_.end()) lengths = found->second;
  }
  std::sort(lengths.rbegin(), lengths.rend());
  for (const std::size_t length : lengths) {
    if (length >= text.size()) continue;
    const std::string base = name_of("text", std::string_view(text).substr(0, length));
    if (!knows(base, fresh)) continue;
    fresh[key_of(name)] = Json{{"b", base}, {"t", text.substr(length)}};
    return reference(name);
  }
  fresh[key_of(name)] = Json{{"t", text}};
  return reference(name);
}

Json Parts::shrink_list(const Json& list, Json& fresh) const {
  const std::vector<std::string> names = names_of_beginnings(list);
  std::size_t known = names.size();
  while (known > 0 && !knows(names[known - 1], fresh)) --known;
  if (known < names.size()) {
    Json added = Json::array();
    for (std::size_t i = known; i < list.size(); ++i) added.push_back(shrink(list[i], fresh));
    if (known == 0 && !worth_it(added)) return added;  // Only its elements are large.
    Json& part = fresh[key_of(names.back())];
    part["a"] = std::move(added);
    if (known > 0) part["b"] = names[known - 1];
  }
  return reference(names.back());
}

Json Parts::shrink_object(const Json& object, Json& fresh) const {
  std::string name;
  if (worth_it(object)) {
    name = name_of("object", encoded(object));
    if (knows(name, fresh)) return reference(name);
  }
  Json form = Json::object();
  const bool escaped = object.contains("");
  if (escaped) form[""] = Json::array();
  for (auto one = object.begin(); one != object.end(); ++one) {
    Json member = shrink(*one, fresh);
    if (escaped) {
      form[""].push_back(Json::array({one.key(), std::move(member)}));
    } else {
      form[one.key()] = std::move(member);
    }
  }
  if (name.empty() || !worth_it(form)) return form;
  fresh[key_of(name)] = Json{{"o", std::move(form)}};
  return reference(name);
}

Json Parts::expand(const Json& form) const {
  std::size_t left = most_expanded_;
  return expand(form, Room{0, left});
}

void Parts::Room::take(std::size_t bytes) const {
  if (depth > deepest) throw std::runtime_error("it is nested too deep");
  if (bytes > left) throw std::runtime_error("it takes too much memory");
  left -= bytes;
}

Json Parts::expand(const Json& form, Room room) const {
  room.take(sizeof(Json) + (form.is_string() ? form.get_ref<const std::string&>().size() : 0));
  if (form.is_array()) {
    Json value = Json::array();
    for (const Json& element : form) value.push_back(expand(element, room.inside()));
    return value;
  }
  if (!form.is_object()) return form;
  Json value = Json::object();
  const auto set = [&](const std::string& key, const Json& member) {
    room.take(key.size());
    value[key] = expand(member, room.inside());
  };
  if (const auto special = form.find(""); special != form.end()) {
    if (special->is_string()) return resolve(special->get<std::string>(), room.inside());
    for (const Json& member : special->get_ref<const Json::array_t&>()) {
      set(member.at(0).get_ref<const std::string&>(), member.at(1));
    }
    return value;
  }
  for (auto one = form.begin(); one != form.end(); ++one) set(one.key(), *one);
  return value;
}

Json Parts::resolve(const std::string& name, Room room) const {
  std::vector<const Json*> pieces;  // Last piece first.
  for (std::string next = name; !next.empty(); next = pieces.back()->value("b", std::string())) {
    const Json* part = state_.find(key_of(next));
    if (part == nullptr || !part->is_object() || pieces.size() > names_.size()) {
      throw std::runtime_error("part \"" + printable(next) + "\" is missing or damaged");
    }
    pieces.push_back(part);
  }
  if (pieces.empty()) throw std::runtime_error("it refers to a part without a name");
  if (pieces.front()->contains("o")) return expand(pieces.front()->at("o"), room.inside());
  const bool list = pieces.front()->contains("a");
  Json value = list ? Json(Json::array()) : Json("");
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (!list) {
      const auto& added = (*piece)->at("t").get_ref<const std::string&>();
      room.take(added.size());
      value.get_ref<std::string&>() += added;
      continue;
    }
    for (const Json& element : (*piece)->at("a").get_ref<const Json::array_t&>()) {
      value.push_back(expand(element, room.inside()));
    }
  }
  return value;
}

}  // namespace triage::inline v0_1::workflow::detail
