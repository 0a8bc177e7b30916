// SPDX-License-Identifier: MIT
#pragma once
// Writes a JSON value as the CBOR of record bodies while it is being read, without a tree. Private.

#include "journal/cbor_writer.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Behind the name of a value.
[[nodiscard]] inline std::string too_deep_problem() {
  return ": nested deeper than " + std::to_string(max_json_depth) +
         " levels, which is the most that is allowed";
}

// Writes what encode_cbor() writes for the tree of the same value, though the number of elements
// and members is only known at their end, and members come in any order. Of several members with
// one key the last one stays, as in a tree.
class ValueBuilder : public CborWriter {
 public:
  explicit ValueBuilder(std::string& out) : CborWriter(out) { members_.reserve(usual_members); }

  // An array or a map; both are ended in the reverse order of their beginning.
  struct Open {
    std::size_t begin;   // Of its head.
    std::size_t member;  // Of its first one in members_.
  };
  [[nodiscard]] Open open() {
    out_.push_back('\0');  // Where its head goes.
    return {out_.size() - 1, members_.size()};
  }
  void close_array(const Open& array, std::size_t size) { put_size(array, cbor::array, size); }
  // The key of a map's next member; its value follows.
  void key(std::string_view name) {
    const std::size_t begin = out_.size();
    text(name);
    members_.push_back({begin, out_.size() - name.size(), name.size()});
  }
  void close_map(const Open& map) {
    const auto first = members_.begin() + static_cast<std::ptrdiff_t>(map.member);
    const auto unordered = [&](const Member& a, const Member& b) { return name(a) >= name(b); };
    auto size = static_cast<std::size_t>(members_.end() - first);
    if (std::adjacent_find(first, members_.end(), unordered) != members_.end()) {
      size = put_in_order(map);
    }
    members_.resize(map.member);
    put_size(map, cbor::map, size);
  }

 private:
  static constexpr std::size_t usual_members = 16;  // Open at once.

  struct Member {
    std::size_t begin;
    std::size_t name;
    std::size_t name_size;
    std::size_t end = 0;
  };

  [[nodiscard]] std::string_view name(const Member& member) const {
    return std::string_view(out_).substr(member.name, member.name_size);
  }

  // Returns the number of members left.
  std::size_t put_in_order(const Open& map) {
    const auto first = members_.begin() + static_cast<std::ptrdiff_t>(map.member);
    for (auto member = first; member != members_.end(); ++member) {
      member->end = member + 1 == members_.end() ? out_.size() : (member + 1)->begin;
    }
    std::stable_sort(first, members_.end(),
                     [&](const Member& a, const Member& b) { return name(a) < name(b); });
    std::string ordered;
    ordered.reserve(out_.size() - map.begin);
    std::size_t size = 0;
    for (auto member = first; member != members_.end(); ++member) {
      if (member + 1 != members_.end() && name(*member) == name(*(member + 1))) continue;
      ordered.append(out_, member->begin, member->end - member->begin);
      ++size;
    }
    out_.replace(map.begin + 1, std::string::npos, ordered);
    return size;
  }

  void put_size(const Open& open, cbor::Major major, std::size_t size) {
    constexpr std::size_t most_in_one_byte = 23;
    if (size <= most_in_one_byte) {
      out_[open.begin] = static_cast<char>(major | size);
      return;
    }
    std::string head;  // Up to nine bytes, which need no heap.
    cbor::put_head(head, major, size);
    out_.replace(open.begin, 1, head);
  }

  std::vector<Member> members_{};  // Of all open maps.
};

}  // namespace triage::inline v0_1::detail
