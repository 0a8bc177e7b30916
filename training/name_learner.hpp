// SPDX-License-Identifier: MIT
#pragma once
// Learns which words stand together in the names of several programs.

#include "classifier/text/known_names.hpp"
#include "triage/failure.hpp"

#include <string>
#include <string_view>
#include <unordered_map>

namespace triage::training {

class NameLearner {
 public:
  // The texts of a failure and its causes. Those of one origin, such as a program, count once.
  void read(const Failure& failure, std::size_t origin);
  void read(std::string_view text, std::size_t origin);

  // Adds the pairs of words inside of identifiers that at least two origins have somewhere in their
  // texts to a filter of detail::KnownNames; an empty one, which knows all, stays empty.
  void teach(std::string& filter) const;

 private:
  struct Met {
    std::size_t origin = 0;  // The first one.
    bool several = false;
    bool in_name = false;
  };
  std::unordered_map<detail::WordsPair, Met> met_{};
};

}  // namespace triage::training
