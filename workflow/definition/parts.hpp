// SPDX-License-Identifier: MIT
#pragma once
// Stores large repeated values once, such as a conversation that is sent again in each turn.

#include "definition/state_keys.hpp"
#include "triage/json.hpp"
#include "triage/record.hpp"
#include "triage/state.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {

// A part is a key of the run's state, part_prefix + NAME. NAME is a hash of everything the part
// stands for, so a part never changes. Its value is one of
//   {"a": [form, …]}           a list,
//   {"a": [form, …], "b": NAME} a list that begins with all elements of another one,
//   {"t": text}, with or without "b": a text, in the same way,
//   {"o": form}                an object.
// A form is a value in which {"": NAME} stands for a part. An object that has the key "" itself is
// {"": [[key, form], …]} there.

// Thread-safety: all members except begin_with() may be called from several threads at once.
class Parts {
 public:
  // Loads the parts in a run's state.
  void begin_with(const State& state);

  // True if a value is large enough for shrink().
  [[nodiscard]] static bool worth_it(const Json& value);
  // The form of a value. Parts that it needs and that were not learned are added to `fresh`, an
  // object of keys of the state, which must be stored with the form.
  [[nodiscard]] Json shrink(const Json& value, Json& fresh) const;
  // The parts among keys of the state.
  [[nodiscard]] static Json of(const Json& patch);
  // Notes that these parts are stored.
  void learn(const Json& stored);

  // The value of a form, by the parts of begin_with(). Throws std::exception if one is missing or
  // damaged, or if the value takes more than most_expanded_ bytes: a few parts may stand for any
  // number of copies of each other.
  [[nodiscard]] Json expand(const Json& form) const;
  void set_most_expanded(std::size_t bytes) { most_expanded_ = bytes; }

 private:
  [[nodiscard]] bool knows(const std::string& name, const Json& fresh) const;
  [[nodiscard]] const Json* text_part(const std::string& name) const;
  void learn_text(const std::string& name, const Json& part);
  [[nodiscard]] Json shrink_text(const std::string& text, Json& fresh) const;
  [[nodiscard]] Json shrink_list(const Json& list, Json& fresh) const;
  [[nodiscard]] Json shrink_object(const Json& object, Json& fresh) const;
  // How far a value is nested, and how many bytes it may still take.
  struct Room {
    int depth = 0;
    std::size_t& left;
    [[nodiscard]] Room inside() const { return {depth + 1, left}; }
    void take(std::size_t bytes) const;
  };
  [[nodiscard]] Json expand(const Json& form, Room room) const;
  [[nodiscard]] Json resolve(const std::string& name, Room room) const;

  struct Text {
    std::size_t length = 0;
    std::string head{};  // The name of its prefix.
  };

  State state_{};
  std::size_t most_expanded_ = triage::detail::most_decoded_bytes;
  mutable std::shared_mutex mutex_{};
  std::set<std::string, std::less<>> names_{};
  std::map<std::string, Text, std::less<>> texts_{};                       // By name.
  std::map<std::string, std::deque<std::size_t>, std::less<>> lengths_{};  // By head; newest last.
};

}  // namespace triage::inline v0_1::workflow::detail
