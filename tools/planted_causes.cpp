// SPDX-License-Identifier: MIT
#include "planted_causes.hpp"

#include "office.hpp"
#include "triage/step.hpp"

#include <string>
#include <utility>
#include <vector>

namespace triage::evaluation {
namespace {

enum class Hands { on, nothing, hollow };  // What an item has after its last stage.

struct Item {
  std::string topic{};
  std::array<std::string, 4> handles{};
  std::size_t done = 0;  // Completed stages.
  Hands hands = Hands::on;
};

class Script {
 public:
  explicit Script(std::uint64_t seed) : dice_(seed * 0x9e3779b97f4a7c15U + seed) {
    run_.cause = static_cast<Cause>(seed % cause_count);
  }

  PlantedRun play() {
    prepare();
    while (!over_) {
      if (dice_.chance(noise_)) interlude();
      if (at_once() && dice_.chance(0.12)) {
        plant_anywhere();
        continue;
      }
      Item* item = next_item();
      if (item == nullptr) {
        ship_all();
      } else {
        work(*item);
      }
    }
    for (std::size_t i = dice_.below(3); i > 0 && dice_.chance(0.3); --i) tidy_up();
    return std::move(run_);
  }

 private:
  // --- setting the scene
  void prepare() {
    noise_ = 0.05 + 0.05 * static_cast<double>(dice_.below(7));
    records_outputs_ = dice_.chance(0.93);
    agents_ = dice_.between(1, 3);
    by_item_ = dice_.chance(0.5);
    items_.resize(dice_.between(2, 6));
    for (Item& item : items_) item.topic = dice_.id("topic-");
    victim_ = dice_.below(items_.size());
    std::size_t first = find;
    std::size_t last = put;
    if (run_.cause == Cause::odd_output) first = get;
    if (run_.cause == Cause::empty_result) last = get;
    planted_at_ = dice_.between(first, last);
    shown_at_ = dice_.between(planted_at_ + 1, ship);
    if (run_.cause == Cause::outside_tool || dice_.chance(0.3)) write_contract();
    if (run_.cause == Cause::broken_constraint) {
      phrase_ = dice_.one_of(std::array<const char*, 4>{"guaranteed return", "internal use only",
                                                        "as a doctor I", "delete everything"});
      run_.contract.constraints = {phrase_};
    }
  }

  void write_contract() {
    for (const char* tool : office_.tools) run_.contract.tools.push_back({.name = tool});
    for (const char* tool : {office_.side_tool, office_.check_tool, office_.mirror_tool}) {
      run_.contract.tools.push_back({.name = tool});
    }
  }

  // Causes that do not belong to an item.
  [[nodiscard]] bool at_once() const {
    return !planted_ && (run_.cause == Cause::loop || run_.cause == Cause::large_output ||
                         run_.cause == Cause::broken_constraint);
  }

  Item* next_item() {
    std::vector<Item*> open;
    for (Item& item : items_) {
      if (item.done < ship) open.push_back(&item);
    }
    if (open.empty()) return nullptr;
    return by_item_ ? open.front() : open[dice_.below(open.size())];
  }

  // --- steps
  Step step_of(const std::string& tool, Json input) {
    Step step{.action = "call " + tool, .tool_called = tool, .tool_input = std::move(input)};
    if (agents_ > 1) step.agent_id = "agent-" + std::to_string(1 + tool.size() % agents_);
    return step;
  }
  std::size_t put_down(Step step) {
    if (!records_outputs_ && !step.error) step.tool_output = nullptr;
    run_.trajectory.append(std::move(step));
    return run_.trajectory.size() - 1;
  }
  std::size_t fail(const std::string& tool, Json input, const std::string& error) {
    Step step = step_of(tool, std::move(input));
    step.error = error;
    if (const std::size_t at = error.find("HTTP 50"); at != std::string::npos) {
      step.http_status = std::stoi(error.substr(at + 5, 3));
    }
    return put_down(std::move(step));
  }
  std::size_t answer(const std::string& tool, Json input, Json output) {
    Step step = step_of(tool, std::move(input));
    step.tool_output = std::move(output);
    return put_down(std::move(step));
  }

  std::string tool(std::size_t stage) const { return office_.tools[stage]; }

  Json input_of(const Item& item, std::size_t stage) {
    Json input = Json::object();
    if (stage == find) {
      input[office_.input_keys[find]] = item.topic;
    } else if (item.hands == Hands::on) {
      input[office_.input_keys[stage]] = item.handles[stage - 1];
    } else {
      input[office_.input_keys[stage]] = nullptr;
    }
    if (stage == make) input["mode"] = "full";
    return input;
  }

  Json output_of(const Item& item, std::size_t stage, const std::string& handle) {
    if (item.hands == Hands::hollow) return {{office_.input_keys[stage + 1], nullptr}};
    if (stage != find) {
      return {{office_.input_keys[stage + 1], handle},
              {"size", dice_.between(200, 9000)},
              {"note", text(dice_, dice_.between(5, 60))}};
    }
    Json hits = Json::array({Json{{"id", handle}, {"rank", 1}}});
    for (std::size_t i = dice_.below(3); i > 0; --i) {
      hits.push_back({{"id", dice_.id(office_.id_prefixes[find])}, {"rank", hits.size() + 1}});
    }
    return {{office_.list_key, hits}, {"total", hits.size()}};
  }

  // --- one stage of one item
  void work(Item& item) {
    const std::size_t stage = item.done;
    const bool victim = &item == &items_[victim_];
    if (victim && planted_ && stage == shown_at_) return show(item, stage);
    if (victim && !planted_ && stage == planted_at_ && !at_once()) return plant_in(item, stage);
    before(item, stage);
    advance(item, stage);
  }

  void advance(Item& item, std::size_t stage) {
    const Json input = input_of(item, stage);
    if (item.hands == Hands::nothing) item.hands = Hands::hollow;
    item.handles[stage] = dice_.id(office_.id_prefixes[stage]);
    answer(tool(stage), input, output_of(item, stage, item.handles[stage]));
    ++item.done;
  }

  // Goes wrong before a step and is corrected.
  void before(const Item& item, std::size_t stage) {
    if (!dice_.chance(noise_)) return;
    const Json input = input_of(item, stage);
    switch (dice_.below(4)) {
      case 0:
      case 1: {  // Retried.
        const std::string error = distant_error(dice_);
        for (std::size_t i = dice_.between(1, 2); i > 0; --i) fail(tool(stage), input, error);
        break;
      }
      case 2:  // A wrong argument, corrected.
        fail(tool(stage), {{"item", input.front()}}, "unexpected keyword argument 'item'");
        break;
      default:  // A non-existent tool, then the right one.
        fail("get_" + tool(stage), input, "no such tool: get_" + tool(stage));
    }
  }

  void ship_all() {
    Json all = Json::array();
    for (const Item& item : items_) {
      all.push_back(item.hands == Hands::on ? Json(item.handles[put]) : Json(nullptr));
    }
    if (planted_ && !at_once() && shown_at_ == ship) return show(items_[victim_], ship, all);
    if (!planted_) return plant_anywhere();
    answer(tool(ship), {{office_.input_keys[ship], all}}, {{"done", true}});
    end(dice_.chance(0.5) ? "the run ended without an answer" : "no result");
  }

  // --- causes
  void planted(std::size_t step) {
    run_.cause_step = step;
    planted_ = true;
  }

  void plant_in(Item& item, std::size_t stage) {
    const Json input = input_of(item, stage);
    const std::string own = dice_.id(office_.id_prefixes[stage]);
    const std::string& given = stage == find ? item.topic : item.handles[stage - 1];
    item.handles[stage] = own;
    switch (run_.cause) {
      case Cause::outside_tool: plant_outside_tool(input, stage); break;
      case Cause::swallowed_error: {
        const std::string error =
            dice_.chance(0.5) ? plain_error(dice_, given) : distant_error(dice_);
        planted(dice_.chance(0.7) ? fail(tool(stage), input, error)
                                  : answer(tool(stage), input, error_answer(dice_, error)));
        break;
      }
      case Cause::odd_output:
        planted(answer(tool(stage), input, odd_answer(dice_, office_, stage)));
        break;
      case Cause::empty_result:
        planted(answer(tool(stage), input, empty_answer(dice_, office_, stage)));
        break;
      case Cause::wrong_value:
        planted(answer(tool(stage), input, output_of(item, stage, own)));
        ++item.done;
        wrong_ = own;
        return;
      default: own_fault(input, stage, given); return;
    }
    ++item.done;
    // The agent continues with nothing, or as if it had what it expected.
    item.hands = dice_.chance(0.7) ? Hands::nothing : Hands::on;
    wrong_ = item.hands == Hands::on ? own : "";
  }

  void plant_outside_tool(const Json& input, std::size_t stage) {
    const std::string name =
        dice_.one_of(std::array<const char*, 3>{"smart_", "functions.", "quick_"}) + tool(stage);
    planted(dice_.chance(0.5) ? fail(name, input, "no such tool: " + name)
                              : answer(name, input, nullptr));
  }

  void own_fault(const Json& input, std::size_t stage, const std::string& given) {
    std::string error;
    switch (dice_.below(4)) {
      case 0:
      case 1: error = distant_error(dice_); break;
      case 2: error = plain_error(dice_, given); break;
      default: error = shape_error(dice_);
    }
    planted(fail(tool(stage), input, error));
    for (std::size_t i = dice_.chance(0.5) ? dice_.between(1, 2) : 0; i > 0; --i) {
      fail(tool(stage), input, error);
    }
    end(error);
  }

  void plant_anywhere() {
    switch (run_.cause) {
      case Cause::loop: plant_loop(); break;
      case Cause::large_output: plant_large_output(); break;
      default: plant_phrase(); break;
    }
  }

  void plant_loop() {
    const std::size_t period = dice_.between(1, 3);
    std::vector<std::pair<std::string, Json>> calls;
    for (std::size_t i = 0; i < period; ++i) {
      calls.emplace_back(tool(i), Json{{office_.input_keys[i], items_[victim_].topic}});
    }
    const Json same = {{office_.list_key, Json::array({items_[victim_].topic})}};
    for (std::size_t turn = dice_.between(3, 6); turn > 0; --turn) {
      for (const auto& [name, input] : calls) {
        const std::size_t step = answer(name, input, same);
        if (!planted_) planted(step);
        if (dice_.chance(0.2)) think();
      }
    }
    end(dice_.one_of(std::array<const char*, 3>{"stopped: too many steps", "no final answer",
                                                "the agent did not come to an end"}));
  }

  void plant_large_output() {
    Item* item = next_item();
    const Json input{{office_.input_keys[get], item == nullptr ? "all" : item->topic}};
    planted(answer(tool(get), input,
                   {{office_.input_keys[make], dice_.id(office_.id_prefixes[get])},
                    {"note", text(dice_, dice_.between(20'000, 60'000))}}));
    for (std::size_t i = dice_.between(0, 9); i > 0; --i) {
      Item* open = next_item();
      if (open == nullptr || dice_.chance(0.2)) {
        interlude();
      } else {
        advance(*open, open->done);
      }
    }
    end(overflow_error(dice_));
  }

  void plant_phrase() {
    const auto say = [&] {
      run_.trajectory.append(
          {.action = "think", .llm_output = text(dice_, 12) + phrase_ + ". " + text(dice_, 8)});
      return run_.trajectory.size() - 1;
    };
    planted(say());
    for (std::size_t i = dice_.between(1, 12); i > 0; --i) {
      Item* open = next_item();
      if (open == nullptr || dice_.chance(0.2)) {
        if (dice_.chance(0.3)) say();
        interlude();
      } else {
        before(*open, open->done);
        advance(*open, open->done);
      }
    }
    end("the answer did not pass the final check");
  }

  // --- symptoms
  void show(Item& item, std::size_t stage, Json all = nullptr) {
    const Json input =
        stage == ship ? Json{{office_.input_keys[ship], std::move(all)}} : input_of(item, stage);
    const bool named = !wrong_.empty();
    const std::string error = named ? missing_error(dice_, wrong_) : shape_error(dice_);
    if (dice_.chance(0.75)) {
      for (std::size_t i = dice_.chance(0.2) ? 2 : 1; i > 0; --i) fail(tool(stage), input, error);
    }
    end(error);
  }

  void end(const std::string& error) {
    over_ = true;
    switch (dice_.below(4)) {
      case 0:
      case 1: run_.failure.text = error; break;
      case 2: run_.failure.text = "the run failed: " + error; break;
      default: run_.failure.text = dice_.chance(0.5) ? error : "the task could not be finished";
    }
  }

  // --- other events
  void think() {
    run_.trajectory.append({.action = "think", .llm_output = thought(dice_, office_.subject)});
  }

  void interlude() {
    switch (dice_.below(4)) {
      case 0: think(); break;
      case 1:  // Does not matter.
        if (dice_.chance(0.4)) {
          fail(office_.side_tool, {{"text", thought(dice_, office_.subject)}},
               dice_.chance(0.5) ? distant_error(dice_) : plain_error(dice_, office_.side_tool));
        } else {
          answer(office_.side_tool, {{"text", text(dice_, 4)}}, nullptr);
        }
        break;
      case 2:  // Legitimately empty.
        answer(office_.check_tool, {{"scope", dice_.id("scope-")}},
               dice_.chance(0.8) ? Json::array() : Json::array({text(dice_, 3)}));
        break;
      default: {  // An alternative way.
        const Json input{{office_.input_keys[get], dice_.id(office_.id_prefixes[find])}};
        fail(tool(get), input, distant_error(dice_));
        answer(office_.mirror_tool, input,
               {{office_.input_keys[make], dice_.id(office_.id_prefixes[get])},
                {"size", dice_.between(200, 9000)},
                {"note", text(dice_, 20)}});
      }
    }
  }

  void tidy_up() {
    if (dice_.chance(0.5)) return think();
    answer(office_.side_tool, {{"text", "stopped"}}, nullptr);
  }

  Dice dice_;
  const Office& office_ = some_office(dice_);
  PlantedRun run_{};
  std::vector<Item> items_{};
  std::size_t victim_ = 0;
  std::size_t planted_at_ = 0;
  std::size_t shown_at_ = 0;
  std::size_t agents_ = 1;
  double noise_ = 0;
  bool by_item_ = false;
  bool records_outputs_ = true;
  bool planted_ = false;
  bool over_ = false;
  std::string wrong_{};   // The handle that does not exist.
  std::string phrase_{};  // What the contract forbids.
};

}  // namespace

PlantedRun plant(std::uint64_t seed) { return Script(seed).play(); }

}  // namespace triage::evaluation
