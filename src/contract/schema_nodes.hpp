// SPDX-License-Identifier: MIT
#pragma once
// A parsed JSON Schema: its subschemas, and where references lead. Private.

#include "triage/json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

enum class Draft : std::uint8_t { draft4, draft6, draft7, draft2020 };

struct SchemaNode {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  const Json* json = nullptr;  // An object or a boolean.
  std::string path{};          // JSON Pointer inside the schema.
  std::string base{};          // URI that references here are relative to; empty: none.
  std::size_t resource = 0;    // The node whose $id gave that URI: "#/…" begins there.
  // Up to draft 7 a reference replaces its node; since then it is a keyword like any other.
  std::size_t target = 0;        // Up to draft 7: where its $ref finally leads; else itself.
  std::size_t reference = none;  // Since 2019: where its $ref leads.
  std::size_t dynamic = none;    // Where its $dynamicRef leads, unless an outer schema …
  std::string dynamic_anchor{};  // … has this $dynamicAnchor; empty: always.
};

// Every keyword value has the right shape, every $ref has a target, and no subschema refers to
// itself for the same value.
class SchemaNodes {
 public:
  // The schema must outlive the nodes. Errors: see JsonSchema::compile.
  [[nodiscard]] static Result<SchemaNodes> read(const Json& schema);

  [[nodiscard]] Draft draft() const noexcept { return draft_; }
  [[nodiscard]] const std::vector<SchemaNode>& all() const noexcept { return nodes_; }
  // The node that checks this subschema: its $ref's target, or itself.
  [[nodiscard]] std::size_t of(const Json& subschema) const {
    return nodes_[by_json_.at(&subschema)].target;
  }
  // The node with this $dynamicAnchor in a resource; SchemaNode::none if there is none.
  [[nodiscard]] std::size_t dynamic_anchor(std::size_t resource, const std::string& name) const {
    const auto found = by_dynamic_anchor_.find({resource, name});
    return found == by_dynamic_anchor_.end() ? SchemaNode::none : found->second;
  }

 private:
  Result<void> read_all(const Json& schema);
  Result<void> read_node(std::size_t index);
  Result<void> read_keyword(std::size_t index, const std::string& name, const Json& value);
  Result<std::size_t> add(const Json& json, std::string path, const SchemaNode& around,
                          std::size_t resource);
  Result<void> add_child(std::size_t parent, const Json& json, std::string path, bool same_value);
  void name_node(std::size_t index);
  Result<void> resolve(std::size_t from, const char* keyword);
  Result<std::size_t> find_target(const SchemaNode& node, const std::string& reference,
                                  const std::string& path);
  Result<void> follow_references();
  Result<void> refuse_circles() const;

  Draft draft_ = Draft::draft7;
  std::vector<SchemaNode> nodes_{};
  std::unordered_map<const Json*, std::size_t> by_json_{};
  std::unordered_map<std::string, std::size_t> by_name_{};  // URIs, and URIs with "#anchor".
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_dynamic_anchor_{};
  std::vector<std::pair<std::size_t, const char*>> unresolved_{};  // Nodes and their keywords.
  // For each node, the nodes that apply to the same value rather than to a part of it.
  std::vector<std::vector<std::size_t>> same_value_{};
};

// "a/b~c" → "a~1b~0c".
[[nodiscard]] std::string pointer_token(std::string_view name);

}  // namespace triage::inline v0_1::detail
