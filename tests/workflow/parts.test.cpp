// SPDX-License-Identifier: MIT
#include "definition/parts.hpp"
#include "kit.hpp"

#include <random>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow::detail;
using Catch::Matchers::ContainsSubstring;

namespace {

// The state of a run as parts see it.
class Stored {
 public:
  Json shrink(const Json& value) {
    Json fresh = Json::object();
    Json form = parts_.shrink(value, fresh);
    for (const auto& [key, part] : fresh.items()) {
      (*values_)[key] = std::make_shared<const Json>(part);
    }
    parts_.learn(fresh);
    return form;
  }
  // As read in another process.
  [[nodiscard]] Json expand(const Json& form) const {
    Parts parts;
    parts.begin_with(State(values_));
    return parts.expand(form);
  }
  void reopen() { parts_.begin_with(State(values_)); }
  [[nodiscard]] std::size_t size() const { return values_->size(); }
  [[nodiscard]] State::Values& values() { return *values_; }

 private:
  std::shared_ptr<State::Values> values_ = std::make_shared<State::Values>();
  Parts parts_{};
};

using Rng = std::mt19937;

std::string random_text(Rng& rng) {
  const std::size_t sizes[] = {0, 1, 30, 600, 3'000};
  std::string text;
  const std::size_t wanted = sizes[rng() % 5];
  while (text.size() < wanted) text += static_cast<char>(rng() % 4 == 0 ? 0xff : 'a' + rng() % 26);
  return text;
}

Json random_value(Rng& rng, int depth) {
  const auto kind = rng() % (depth > 3 ? 4 : 6);
  if (kind == 0) return nullptr;
  if (kind == 1) return static_cast<int>(rng() % 1'000) - 500;
  if (kind == 2) return static_cast<double>(rng()) / 7.0;
  if (kind == 3) return random_text(rng);
  Json value = kind == 4 ? Json::array() : Json::object();
  const char* const keys[] = {"", "a", "b", "t", "o", "content"};
  for (std::size_t i = rng() % 6; i > 0; --i) {
    if (kind == 4) {
      value.push_back(random_value(rng, depth + 1));
    } else {
      value[keys[rng() % 6]] = random_value(rng, depth + 1);
    }
  }
  return value;
}

// The next value to send: often an earlier one with something appended.
Json next_value(Rng& rng, const std::vector<Json>& before) {
  if (before.empty() || rng() % 3 == 0) return random_value(rng, 0);
  Json value = before[rng() % before.size()];
  if (value.is_array()) value.push_back(random_value(rng, 1));
  if (value.is_string()) value.get_ref<std::string&>() += random_text(rng);
  if (value.is_object()) value["content"] = random_value(rng, 1);
  return rng() % 4 == 0 ? Json::array({value, value}) : value;
}

}  // namespace

TEST_CASE("random values come back from their parts, whatever they have in common",
          "[workflow][growth]") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    Stored stored;
    std::vector<Json> values;
    std::vector<Json> forms;
    for (int i = 0; i < 20; ++i) {
      values.push_back(next_value(rng, values));
      forms.push_back(stored.shrink(values.back()));
      if (rng() % 5 == 0) stored.reopen();
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      INFO("seed " << seed << ", value " << i);
      REQUIRE(stored.expand(forms[i]) == values[i]);
    }
  }
}

TEST_CASE("a value that looks like a reference to a part is data", "[workflow][growth]") {
  Stored stored;
  const std::string large(600, 'x');
  const Json form = stored.shrink(Json{{"list", {large}}});
  for (const Json& value :
       {Json{{"", "name"}, {"text", large}}, Json{{"", large}}, Json{{"deep", {{"", form}}}}, form,
        Json::array({form, large}), Json{{"", Json::array({Json::array({"key", large})})}}}) {
    const Json again = stored.shrink(value);
    CHECK(stored.expand(again) == value);
  }
}

TEST_CASE("a large value that is stored already takes nothing, also in another process",
          "[workflow][growth]") {
  Stored stored;
  Json tools = Json::object();
  for (int i = 0; i < 100; ++i) tools["tool " + std::to_string(i)] = i;
  const Json value{{"text", std::string(1'000, 'x')}, {"tools", tools}, {"list", {tools, tools}}};
  const Json form = stored.shrink(value);
  const std::size_t parts = stored.size();
  CHECK(stored.shrink(value) == form);
  stored.reopen();
  CHECK(stored.shrink(value) == form);
  CHECK(stored.size() == parts);
}

TEST_CASE("a list of which only the elements are large is no part of its own",
          "[workflow][growth]") {
  Stored stored;
  const Json list = Json::array({std::string(600, 'x'), 1, std::string(700, 'y')});
  const Json form = stored.shrink(list);
  CHECK(form.is_array());
  CHECK(stored.size() == 2);
  CHECK(stored.expand(form) == list);
}

TEST_CASE("a missing or damaged part is reported, and never read as something else",
          "[workflow][growth]") {
  Stored stored;
  const Json form = stored.shrink(
      Json::array({std::string(600, 'x'), std::string(700, 'y'), std::string(500, 'z')}));
  REQUIRE(stored.size() == 3);
  for (const Json& damage : {Json(), Json::object(), Json(7), Json{{"a", 1}}, Json{{"t", 1}},
                             Json{{"a", Json::array()}, {"b", "none"}}, Json{{"b", 1}}}) {
    for (auto& [key, value] : stored.values()) {
      const auto before = std::exchange(value, std::make_shared<const Json>(damage));
      INFO(key << " is " << damage.dump());
      CHECK_THROWS_AS(stored.expand(form), std::exception);
      value = before;
    }
  }
  // Parts that refer to each other.
  const std::string name = form.at("").get<std::string>();
  stored.values()[std::string(part_prefix) + name] =
      std::make_shared<const Json>(Json{{"a", Json::array()}, {"b", name}});
  CHECK_THROWS_AS(stored.expand(form), std::exception);
  stored.values()[std::string(part_prefix) + name] =
      std::make_shared<const Json>(Json{{"a", Json::array({form})}});
  CHECK_THROWS_AS(stored.expand(form), std::exception);
}
