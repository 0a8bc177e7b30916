// SPDX-License-Identifier: MIT
#include "base/word_finder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

struct Node {
  std::vector<std::uint16_t> next{};  // By column; 0 is the root, or none while the trie is built.
  std::uint16_t fallback = 0;
  std::vector<int> words{};
};

std::vector<Node> build_trie(const std::vector<std::string>& words,
                             const std::array<std::uint16_t, 256>& columns, std::size_t width) {
  std::vector<Node> nodes(1);
  nodes[0].next.assign(width, 0);
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::uint16_t at = 0;
    for (const char byte : words[word]) {
      const std::uint16_t column = columns[static_cast<unsigned char>(byte)];
      if (nodes[at].next[column] == 0) {
        nodes[at].next[column] = static_cast<std::uint16_t>(nodes.size());
        nodes.emplace_back().next.assign(width, 0);
      }
      at = nodes[at].next[column];
    }
    if (at != 0) nodes[at].words.push_back(static_cast<int>(word));
  }
  return nodes;
}

// Breadth first: a node's fallback is nearer to the root, so it is complete already.
void complete(std::vector<Node>& nodes) {
  std::vector<std::uint16_t> queue{0};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint16_t at = queue[head];
    for (std::size_t column = 0; column < nodes[at].next.size(); ++column) {
      const std::uint16_t target = nodes[at].next[column];
      const std::uint16_t other =
          at == 0 ? std::uint16_t{0} : nodes[nodes[at].fallback].next[column];
      if (target == 0) {
        nodes[at].next[column] = other;
        continue;
      }
      nodes[target].fallback = other;
      const std::vector<int>& inherited = nodes[other].words;
      nodes[target].words.insert(nodes[target].words.end(), inherited.begin(), inherited.end());
      queue.push_back(target);
    }
  }
}

}  // namespace

WordFinder::WordFinder(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const char byte : word) {
      std::uint16_t& column = columns_[static_cast<unsigned char>(byte)];
      if (column == 0) column = static_cast<std::uint16_t>(width_++);
    }
  }
  for (std::size_t upper = 'A'; upper <= 'Z'; ++upper) {
    columns_[upper] = columns_[upper - 'A' + 'a'];
  }
  std::vector<Node> nodes = build_trie(words, columns_, width_);
  complete(nodes);

  std::vector<std::uint16_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  const auto wordless = std::stable_partition(
      order.begin(), order.end(), [&](std::uint16_t node) { return nodes[node].words.empty(); });
  first_found_ = static_cast<State>(wordless - order.begin()) * width_;
  std::vector<State> number(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<State>(i) * width_;
  table_.clear();
  table_.reserve(nodes.size() * width_);
  for (const std::uint16_t node : order) {
    for (const std::uint16_t target : nodes[node].next) table_.push_back(number[target]);
    if (!nodes[node].words.empty()) words_.push_back(std::move(nodes[node].words));
  }
}

std::size_t WordFinder::scan(std::string_view text, std::size_t at, State& state) const noexcept {
  // In locals: with the members the compiler goes to memory for each byte.
  const State* const table = table_.data();
  const State first_found = first_found_;
  State now = state;
  while (at < text.size()) {
    now = table[now + columns_[static_cast<unsigned char>(text[at++])]];
    if (now >= first_found) break;
  }
  state = now;
  return at;
}

}  // namespace triage::inline v0_1::detail
