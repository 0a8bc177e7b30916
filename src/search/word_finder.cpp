// SPDX-License-Identifier: MIT
#include "search/word_finder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using NodeNumber = std::uint16_t;

// A trie in which each node stores its first child and its next sibling.
struct Node {
  NodeNumber first = 0;  // 0 is the root, which is never a child: none.
  NodeNumber next = 0;
  NodeNumber fallback = 0;
  unsigned char byte = 0;
  std::vector<int> words{};
};

NodeNumber child_of(const std::vector<Node>& nodes, NodeNumber parent, unsigned char byte) {
  NodeNumber child = nodes[parent].first;
  while (child != 0 && nodes[child].byte != byte) child = nodes[child].next;
  return child;
}

std::vector<Node> build_trie(const std::vector<std::string>& words) {
  std::size_t bytes = 1;
  for (const std::string& word : words) bytes += word.size();
  std::vector<Node> nodes;
  nodes.reserve(bytes);
  nodes.emplace_back();
  for (std::size_t word = 0; word < words.size(); ++word) {
    NodeNumber at = 0;
    for (const char c : words[word]) {
      const auto byte = static_cast<unsigned char>(c);
      NodeNumber child = child_of(nodes, at, byte);
      if (child == 0) {
        child = static_cast<NodeNumber>(nodes.size());
        nodes.push_back({.next = nodes[at].first, .byte = byte});
        nodes[at].first = child;
      }
      at = child;
    }
    if (at != 0) nodes[at].words.push_back(static_cast<int>(word));
  }
  return nodes;
}

// The nodes in breadth-first order, each with its fallback and the words it inherits.
std::vector<NodeNumber> complete(std::vector<Node>& nodes) {
  std::vector<NodeNumber> queue{0};
  queue.reserve(nodes.size());
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const NodeNumber at = queue[head];
    for (NodeNumber child = nodes[at].first; child != 0; child = nodes[child].next) {
      queue.push_back(child);
      if (at == 0) continue;
      NodeNumber near = nodes[at].fallback;
      NodeNumber found = child_of(nodes, near, nodes[child].byte);
      while (found == 0 && near != 0) {
        near = nodes[near].fallback;
        found = child_of(nodes, near, nodes[child].byte);
      }
      nodes[child].fallback = found;
      const std::vector<int>& inherited = nodes[found].words;
      nodes[child].words.insert(nodes[child].words.end(), inherited.begin(), inherited.end());
    }
  }
  return queue;
}

}  // namespace

WordFinder::WordFinder(const std::vector<std::string>& words) {
  std::size_t columns = 1;
  for (const std::string& word : words) {
    for (const char byte : word) {
      std::uint16_t& column = columns_[static_cast<unsigned char>(byte)];
      if (column == 0) column = static_cast<std::uint16_t>(columns++);
    }
  }
  width_bits_ = static_cast<unsigned>(std::bit_width(columns - 1));
  std::vector<Node> nodes = build_trie(words);
  const std::vector<NodeNumber> outwards = complete(nodes);

  std::vector<NodeNumber> order(outwards);
  const auto wordless = std::stable_partition(
      order.begin(), order.end(), [&](NodeNumber node) { return nodes[node].words.empty(); });
  first_found_ = static_cast<State>(wordless - order.begin());
  std::vector<NodeNumber> number(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<NodeNumber>(i);
  // A node's transitions are its fallback's, except where it has children of its own.
  table_.assign(nodes.size() << width_bits_, 0);
  const auto row = [&](NodeNumber node) {
    return table_.begin() + static_cast<std::ptrdiff_t>(std::size_t{number[node]} << width_bits_);
  };
  for (const NodeNumber node : outwards) {
    if (node != 0) std::copy_n(row(nodes[node].fallback), 1U << width_bits_, row(node));
    for (NodeNumber child = nodes[node].first; child != 0; child = nodes[child].next) {
      row(node)[columns_[nodes[child].byte]] = number[child];
    }
  }
  for (auto node = wordless; node != order.end(); ++node) {
    words_.push_back(std::move(nodes[*node].words));
  }
  for (std::size_t upper = 'A'; upper <= 'Z'; ++upper) {
    columns_[upper] = columns_[upper - 'A' + 'a'];
  }
}

std::size_t WordFinder::scan(std::string_view text, std::size_t at, State& state) const noexcept {
  // Copies in locals: the compiler would reload members from memory for every byte.
  const std::uint16_t* const table = table_.data();
  const unsigned width_bits = width_bits_;
  const State first_found = first_found_;
  State now = state;
  while (at < text.size()) {
    now = table[(now << width_bits) + columns_[static_cast<unsigned char>(text[at++])]];
    if (now >= first_found) break;
  }
  state = now;
  return at;
}

}  // namespace triage::inline v0_1::detail
