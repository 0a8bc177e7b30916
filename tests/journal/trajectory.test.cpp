// SPDX-License-Identifier: MIT
#include "triage/trajectory.hpp"

#include "support/catch.hpp"
#include "triage/detail/step_chunk.hpp"
#include "triage/record.hpp"
#include "triage/step.hpp"

#include <thread>

using namespace triage;

namespace {

Trajectory of_length(std::size_t count, const std::string& prefix = "s") {
  Trajectory made;
  for (std::size_t i = 0; i < count; ++i) made.append({.action = prefix + std::to_string(i)});
  return made;
}

std::vector<std::string> actions(const Trajectory& trajectory) {
  std::vector<std::string> all;
  for (const Step& step : trajectory) all.push_back(step.action);
  return all;
}

}  // namespace

TEST_CASE("a trajectory is indexed and iterated in order, over all chunk sizes", "[trajectory]") {
  for (const std::size_t size : {0U, 1U, 4U, 5U, 12U, 13U, 28U, 60U, 124U, 125U, 1000U}) {
    const Trajectory trajectory = of_length(size);
    CHECK(trajectory.size() == size);
    CHECK(trajectory.empty() == (size == 0));
    std::size_t i = 0;
    for (const Step& step : trajectory) {
      CHECK(step.action == "s" + std::to_string(i));
      CHECK(trajectory[i].action == step.action);
      ++i;
    }
    CHECK(i == size);
    if (size > 0) CHECK(trajectory.back().action == "s" + std::to_string(size - 1));
  }
}

TEST_CASE("an iterator may begin at any step", "[trajectory]") {
  const Trajectory trajectory = of_length(200);
  for (std::size_t i = 0; i < trajectory.size(); ++i) {
    Trajectory::Iterator it(trajectory, i);
    CHECK(it->action == "s" + std::to_string(i));
    ++it;
    if (i + 1 < trajectory.size()) CHECK(it->action == "s" + std::to_string(i + 1));
  }
}

TEST_CASE("copies share their steps and do not see what the other appends", "[trajectory]") {
  Trajectory a = of_length(10);
  Trajectory b = a;
  a.append({.action = "a"});
  b.append({.action = "b"});
  b.append({.action = "b2"});
  CHECK(&a[3] == &b[3]);
  CHECK(a.back().action == "a");
  CHECK(a.size() == 11);
  CHECK(b[10].action == "b");
  CHECK(b.size() == 12);
  CHECK(actions(b).size() == 12);
}

TEST_CASE("a prefix shares its steps and may be continued differently", "[trajectory]") {
  const Trajectory whole = of_length(100);
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 63U, 64U, 99U, 100U, 200U}) {
    Trajectory part = whole.prefix(count);
    const std::size_t size = std::min<std::size_t>(count, 100);
    CHECK(part.size() == size);
    if (size > 0) CHECK(&part.back() == &whole[size - 1]);
    part.append({.action = "other"});
    CHECK(part.back().action == "other");
    CHECK(actions(part).size() == size + 1);
    CHECK(actions(part)[size] == "other");
    CHECK(whole.size() == 100);
    if (size < 100) CHECK(whole[size].action == "s" + std::to_string(size));
  }
}

TEST_CASE("branches of branches are iterated each along its own way", "[trajectory]") {
  Trajectory current = of_length(20);
  std::vector<std::string> expected = actions(current);
  for (int round = 0; round < 30; ++round) {
    const std::size_t keep = static_cast<std::size_t>(round * 7 % 23) % (current.size() + 1);
    current = current.prefix(keep);
    expected.resize(keep);
    for (int i = 0; i < 5 + round % 4; ++i) {
      expected.push_back("r" + std::to_string(round) + "." + std::to_string(i));
      current.append({.action = expected.back()});
    }
    CHECK(actions(current) == expected);
  }
}

TEST_CASE("copies may be appended to by several threads", "[trajectory]") {
  const Trajectory shared = of_length(10);
  std::vector<Trajectory> copies(8, shared);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < copies.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) copies[t].append({.action = std::to_string(t)});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < copies.size(); ++t) {
    REQUIRE(copies[t].size() == 510);
    std::size_t i = 0;
    for (const Step& step : copies[t]) {
      if (i < 10) CHECK(&step == &shared[i]);
      if (i >= 10) CHECK(step.action == std::to_string(t));
      ++i;
    }
  }
}

TEST_CASE("chunks grow to their largest size and no further", "[trajectory]") {
  const Trajectory trajectory = of_length(1000);
  std::size_t begin = 1000;
  for (auto chunk = trajectory.tail(); chunk != nullptr; chunk = chunk->previous()) {
    CHECK(chunk->capacity() <= detail::StepChunk::largest);
    CHECK(begin - chunk->first() <= chunk->capacity());
    begin = chunk->first();
  }
  CHECK(begin == 0);
  CHECK(of_length(3).tail()->capacity() == detail::StepChunk::smallest);
}

TEST_CASE("steps from a store stay encoded until someone looks, from any thread", "[trajectory]") {
  std::shared_ptr<detail::StepChunk> tail;
  std::size_t size = 0;
  for (int i = 0; i < 200; ++i) {
    auto body = std::make_shared<std::string>();
    detail::encode_step({.action = "s" + std::to_string(i), .tool_output = {{"i", i}}}, *body);
    if (i == 150) *body = "\xff not CBOR";
    detail::append_encoded_step(tail, size, body);
  }
  Trajectory trajectory(tail, size);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < 200; ++i) {
        if (i != 150 && trajectory[i].tool_output.at("i") != i) std::terminate();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(trajectory[150].error.has_value());
  trajectory.append({.action = "new"});
  CHECK(trajectory[200].action == "new");
  CHECK(actions(trajectory).size() == 201);
}

TEST_CASE("encoded steps are read while more are appended, and by branches", "[trajectory]") {
  const auto body = [](const std::string& action) {
    auto bytes = std::make_shared<std::string>();
    detail::encode_step({.action = action}, *bytes);
    return bytes;
  };
  Trajectory whole;
  std::vector<std::thread> readers;
  for (int i = 0; i < 300; ++i) {
    std::shared_ptr<detail::StepChunk> tail = whole.tail();
    std::size_t size = whole.size();
    detail::append_encoded_step(tail, size, body("s" + std::to_string(i)));
    whole = Trajectory(tail, size);
    if (i % 100 != 50) continue;
    readers.emplace_back([seen = whole] {
      for (std::size_t at = 0; at < seen.size(); ++at) {
        if (seen[at].action != "s" + std::to_string(at)) std::terminate();
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::size_t count : {1U, 4U, 5U, 63U, 64U, 299U}) {
    const Trajectory before = whole.prefix(count);
    std::shared_ptr<detail::StepChunk> tail = before.tail();
    std::size_t size = before.size();
    detail::append_encoded_step(tail, size, body("other"));
    const Trajectory branch(tail, size);
    CHECK(branch.back().action == "other");
    CHECK(&branch[count - 1] == &whole[count - 1]);
    CHECK(whole[count].action == "s" + std::to_string(count));
  }
}

TEST_CASE("a trajectory of a million steps is destroyed without recursion", "[trajectory]") {
  Trajectory trajectory;
  for (int i = 0; i < 1'000'000; ++i) trajectory.append({});
  CHECK(trajectory.size() == 1'000'000);
  trajectory = {};
  CHECK(trajectory.empty());
}
