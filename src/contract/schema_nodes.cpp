// SPDX-License-Identifier: MIT
#include "contract/schema_nodes.hpp"

#include "base/percent.hpp"
#include "contract/schema_keywords.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_nodes = 10'000;

bool has_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  return colon != std::string_view::npos && colon < uri.find_first_of("/?#");
}

// Resolves a relative reference against a base. Sufficient for schemas: no "../".
std::string absolute(const std::string& base, std::string uri) {
  while (uri.starts_with("./")) uri.erase(0, 2);
  if (uri.empty()) return base;
  if (base.empty() || has_scheme(uri)) return uri;
  if (uri.front() == '/') {
    const std::size_t authority = base.find("//");
    const std::size_t root =
        authority == std::string::npos ? std::string::npos : base.find('/', authority + 2);
    return base.substr(0, root) + uri;
  }
  const std::size_t slash = base.rfind('/');
  return slash == std::string::npos ? uri : base.substr(0, slash + 1) + uri;
}

std::pair<std::string, std::string> split_fragment(const std::string& uri) {
  const std::size_t hash = uri.find('#');
  if (hash == std::string::npos) return {uri, ""};
  return {uri.substr(0, hash), uri.substr(hash + 1)};
}

// The value a JSON Pointer refers to; null if there is none.
const Json* at_pointer(const Json& root, std::string_view pointer) {
  const Json* json = &root;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string token;
    for (std::size_t i = 0; i < end; ++i) {
      if (pointer[i] != '~') {
        token += pointer[i];
      } else {
        if (i + 1 == end || (pointer[i + 1] != '0' && pointer[i + 1] != '1')) return nullptr;
        token += pointer[++i] == '0' ? '~' : '/';
      }
    }
    pointer.remove_prefix(end);
    if (json->is_object()) {
      const auto found = json->find(token);
      if (found == json->end()) return nullptr;
      json = &*found;
    } else if (json->is_array()) {
      std::size_t index = 0;
      const char* last = token.data() + token.size();
      const auto parsed = std::from_chars(token.data(), last, index);
      if (parsed.ec != std::errc{} || parsed.ptr != last || index >= json->size()) return nullptr;
      json = &(*json)[index];
    } else {
      return nullptr;
    }
  }
  return json;
}

// Without "$schema" it is the current draft, which also understands older keywords.
Result<Draft> draft_of(const Json& schema) {
  const auto named = schema.is_object() ? schema.find("$schema") : schema.end();
  if (!schema.is_object() || named == schema.end()) return outcome::success(Draft::draft2020);
  if (!named->is_string()) return schema_error("/$schema", "is not a text");
  const auto& uri = named->get_ref<const std::string&>();
  if (uri.find("draft-03") != std::string::npos) {
    return schema_error("/$schema", "names draft 3; allowed are 4, 6, 7 and later ones");
  }
  constexpr std::pair<std::string_view, Draft> drafts[] = {
      {"draft-04", Draft::draft4}, {"draft-06", Draft::draft6}, {"draft-07", Draft::draft7}};
  for (const auto& [part, draft] : drafts) {
    if (uri.find(part) != std::string::npos) return outcome::success(Draft(draft));
  }
  return outcome::success(Draft::draft2020);
}

// The text of a member, or null.
const std::string* text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? &found->get_ref<const std::string&>()
                                                     : nullptr;
}

}  // namespace

std::string pointer_token(std::string_view name) {
  std::string token;
  for (const char c : name) token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return token;
}

Result<SchemaNodes> SchemaNodes::read(const Json& schema) {
  TRIAGE_TRYV(check_json(schema, "the schema"));
  SchemaNodes nodes;
  TRIAGE_TRY(draft, draft_of(schema));
  nodes.draft_ = draft;
  TRIAGE_TRYV(nodes.read_all(schema));
  TRIAGE_TRYV(nodes.follow_references());
  TRIAGE_TRYV(nodes.refuse_circles());
  return outcome::success(std::move(nodes));
}

Result<void> SchemaNodes::read_all(const Json& schema) {
  TRIAGE_TRYV(add(schema, "", {}, 0));
  // References may lead to places no keyword leads to, so reading and resolving alternate.
  for (std::size_t next = 0; next < nodes_.size() || !unresolved_.empty();) {
    if (next < nodes_.size()) {
      TRIAGE_TRYV(read_node(next++));
    } else {
      const auto [from, keyword] = unresolved_.back();
      unresolved_.pop_back();
      TRIAGE_TRYV(resolve(from, keyword));
    }
  }
  return outcome::success();
}

Result<std::size_t> SchemaNodes::add(const Json& json, std::string path, const SchemaNode& around,
                                     std::size_t resource) {
  const auto [known, is_new] = by_json_.try_emplace(&json, nodes_.size());
  if (!is_new) return outcome::success(std::size_t{known->second});
  if (nodes_.size() == most_nodes) {
    return schema_error(path, "is subschema number " + std::to_string(most_nodes + 1) +
                                  "; allowed are " + std::to_string(most_nodes));
  }
  const std::size_t index = nodes_.size();
  std::string base = around.base;
  nodes_.push_back({.json = &json,
                    .path = std::move(path),
                    .base = std::move(base),
                    .resource = resource,
                    .target = index});
  same_value_.emplace_back();
  return outcome::success(std::size_t{index});
}

Result<void> SchemaNodes::add_child(std::size_t parent, const Json& json, std::string path,
                                    bool same_value) {
  const SchemaNode around = nodes_[parent];
  TRIAGE_TRY(index, add(json, std::move(path), around, around.resource));
  if (same_value) same_value_[parent].push_back(index);
  return outcome::success();
}

// Records the names by which references may refer to the node.
void SchemaNodes::name_node(std::size_t index) {
  SchemaNode& node = nodes_[index];
  if (const std::string* id = text_member(*node.json, draft_ == Draft::draft4 ? "id" : "$id")) {
    const auto [uri, fragment] = split_fragment(*id);
    if (!uri.empty()) {
      node.base = absolute(node.base, uri);
      node.resource = index;
      by_name_.try_emplace(node.base, index);
    }
    if (!fragment.empty()) by_name_.try_emplace(node.base + '#' + fragment, index);
  }
  for (const char* name : {"$anchor", "$dynamicAnchor"}) {
    const std::string* anchor = text_member(*node.json, name);
    if (anchor == nullptr) continue;
    by_name_.try_emplace(node.base + '#' + *anchor, index);
    if (name[1] == 'd') by_dynamic_anchor_.try_emplace({node.resource, *anchor}, index);
  }
}

Result<void> SchemaNodes::read_node(std::size_t index) {
  const Json& json = *nodes_[index].json;
  const std::string path = nodes_[index].path;
  if (json.is_boolean()) return outcome::success();
  if (!json.is_object()) {
    return schema_error(path, "is a schema: it must be an object or a boolean");
  }
  for (const char* name : {"$ref", "$dynamicRef"}) {
    if (!json.contains(name) || (name[1] == 'd' && draft_ <= Draft::draft7)) continue;
    if (text_member(json, name) == nullptr) {
      return schema_error(path + '/' + name, "is not a text");
    }
    unresolved_.emplace_back(index, name);
  }
  if (json.contains("$ref") && draft_ <= Draft::draft7) {
    for (const char* name : {"definitions", "$defs"}) {  // Its other siblings are ignored.
      if (const auto found = json.find(name); found != json.end()) {
        TRIAGE_TRYV(read_keyword(index, name, *found));
      }
    }
    return outcome::success();
  }
  name_node(index);
  for (const auto& [name, value] : json.items()) {
    TRIAGE_TRYV(read_keyword(index, name, value));
  }
  return outcome::success();
}

Result<void> SchemaNodes::read_keyword(std::size_t index, const std::string& name,
                                       const Json& value) {
  const SchemaKeyword* keyword = find_keyword(name, draft_);
  if (keyword == nullptr) return outcome::success();
  const std::string path = nodes_[index].path + '/' + pointer_token(name);
  TRIAGE_TRYV(check_shape(*keyword, draft_, path, value));
  const auto child = [&](const Json& json, const std::string& below) {
    return add_child(index, json, path + below, keyword->same_value);
  };
  switch (keyword->shape) {
    case KeywordShape::schema: return child(value, "");
    case KeywordShape::schema_list:
    case KeywordShape::schema_or_list:
      if (!value.is_array()) return child(value, "");
      for (std::size_t i = 0; i < value.size(); ++i) {
        TRIAGE_TRYV(child(value[i], '/' + std::to_string(i)));
      }
      return outcome::success();
    case KeywordShape::schema_map:
    case KeywordShape::pattern_map:
    case KeywordShape::dependencies:
      for (const auto& [member, json] : value.items()) {
        if (keyword->shape == KeywordShape::dependencies && json.is_array()) continue;
        TRIAGE_TRYV(child(json, '/' + pointer_token(member)));
      }
      return outcome::success();
    default: return outcome::success();
  }
}

Result<void> SchemaNodes::resolve(std::size_t from, const char* keyword) {
  const SchemaNode node = nodes_[from];
  const std::string& reference = *text_member(*node.json, keyword);
  TRIAGE_TRY(target, find_target(node, reference, node.path + '/' + keyword));
  if (keyword[1] == 'd') {
    nodes_[from].dynamic = target;
    const std::string fragment =
        *percent_decoded(split_fragment(reference).second, Malformed::keep);
    const std::string* anchor = text_member(*nodes_[target].json, "$dynamicAnchor");
    if (anchor != nullptr && *anchor == fragment) nodes_[from].dynamic_anchor = fragment;
    return outcome::success();
  }
  if (target == from) return schema_error(node.path + "/$ref", "leads back to itself");
  if (draft_ <= Draft::draft7) {
    nodes_[from].target = target;
  } else {
    nodes_[from].reference = target;
    same_value_[from].push_back(target);
  }
  return outcome::success();
}

Result<std::size_t> SchemaNodes::find_target(const SchemaNode& node, const std::string& reference,
                                             const std::string& path) {
  const auto [uri, fragment] = split_fragment(reference);
  std::size_t resource = node.resource;
  if (!uri.empty() && absolute(node.base, uri) != node.base) {
    const auto named = by_name_.find(absolute(node.base, uri));
    if (named == by_name_.end()) {
      return schema_error(path, "leads to \"" + printable(reference).substr(0, 200) +
                                    "\", which is outside of the schema; only references inside "
                                    "it are allowed");
    }
    resource = named->second;
  }
  const SchemaNode start = nodes_[resource];
  const std::string decoded = *percent_decoded(fragment, Malformed::keep);
  if (!fragment.empty() && fragment.front() != '/') {
    const auto named = by_name_.find(start.base + '#' + decoded);
    if (named != by_name_.end()) return outcome::success(std::size_t{named->second});
  }
  const Json* found = at_pointer(*start.json, decoded);
  if (found == nullptr) {
    return schema_error(path, "leads to \"" + printable(reference).substr(0, 200) +
                                  "\", which is not in the schema");
  }
  return add(*found, start.path + decoded, start, resource);
}

// Replaces every target by the end of its chain of references.
Result<void> SchemaNodes::follow_references() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    SchemaNode& node = nodes_[i];
    std::size_t steps = 0;
    while (nodes_[node.target].target != node.target) {
      node.target = nodes_[node.target].target;
      if (node.target == i || ++steps > nodes_.size()) {
        return schema_error(node.path + "/$ref", "leads back to itself");
      }
    }
  }
  return outcome::success();
}

// A subschema that refers to itself for the same value would recurse for ever. Depth-first search
// with an explicit stack.
Result<void> SchemaNodes::refuse_circles() const {
  enum class Seen : std::uint8_t { no, open, done };
  struct Frame {
    std::size_t node;
    std::size_t next;
  };
  std::vector<Seen> seen(nodes_.size(), Seen::no);
  for (std::size_t start = 0; start < nodes_.size(); ++start) {
    std::vector<Frame> stack;
    if (nodes_[start].target == start && seen[start] == Seen::no) stack.push_back({start, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      seen[top.node] = Seen::open;
      if (top.next == same_value_[top.node].size()) {
        seen[top.node] = Seen::done;
        stack.pop_back();
        continue;
      }
      const std::size_t child = same_value_[top.node][top.next++];
      const std::size_t target = nodes_[child].target;
      if (seen[target] == Seen::open) {
        const SchemaNode& asking = nodes_[top.node];
        const bool refers = asking.reference == child;
        return schema_error(refers ? asking.path + "/$ref" : nodes_[child].path,
                            "leads back to itself about the same value: checking it would never "
                            "end");
      }
      if (seen[target] == Seen::no) stack.push_back({target, 0});
    }
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
