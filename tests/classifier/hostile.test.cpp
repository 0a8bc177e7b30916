// SPDX-License-Identifier: MIT
#include "triage/classifier.hpp"

#include "classifier/support.hpp"
#include "fuzz/hostile_failures.hpp"
#include "support/catch.hpp"

using namespace triage;

namespace {

constexpr std::size_t ten_megabytes = 10U << 20U;

std::string random_bytes(std::uint64_t seed, std::size_t size) {
  const auto random = seeded_random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random->next());
  return bytes;
}

}  // namespace

TEST_CASE("no bytes make the classifier fail", "[classifier][hostile]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const std::string bytes = random_bytes(seed, seed * 7);
    const Classification found = test::classify(
        {.text = bytes, .exception_type = bytes, .headers = {{"retry-after", bytes}}},
        {{.tool_called = bytes, .error = bytes, .exception_type = bytes}});
    for (const Evidence& evidence : found.evidence) CHECK(evidence.confidence <= 1.0);
  }
}

TEST_CASE("only the ends of a 10 MB text are read", "[classifier][hostile]") {
  const std::string filler(ten_megabytes, 'x');
  CHECK(test::type_of_text("HTTP 503\n" + filler) == FailureType::external_fault);
  CHECK(test::type_of_text(filler + "\nHTTP 503") == FailureType::external_fault);
  CHECK(test::type_of_text(filler + "\nHTTP 503\n" + filler) == FailureType::unknown);
  std::string repetitive;
  while (repetitive.size() < ten_megabytes) repetitive += "json cannot parse the timeout setting ";
  (void)test::type_of_text(repetitive);
  (void)test::type_of_text(std::string(ten_megabytes, '\n'));
  (void)test::type_of_text(std::string(ten_megabytes, '('));
  (void)test::type_of_text(random_bytes(7, ten_megabytes));
}

TEST_CASE("NUL bytes and broken UTF-8 do not hide a phrase", "[classifier][hostile]") {
  using namespace std::string_literals;
  CHECK(test::type_of_text("\0\xff\xfe HTTP 503 \xc3"s) == FailureType::external_fault);
  const Classification found = test::classify({.text = "tool '\xff\xfe\0x' not found"s});
  for (const Evidence& evidence : found.evidence) {
    CHECK(evidence.detail.find('\0') == std::string::npos);
  }
}

TEST_CASE("deep inputs and long chains of causes are survived", "[classifier][hostile]") {
  Json deep = 1;
  for (int i = 0; i < 2000; ++i) deep = Json::array({std::move(deep)});
  const Step step{.tool_called = "t", .tool_input = deep};
  CHECK(test::classify({}, {step, step, step}).type == FailureType::loop_detected);
  Failure failure;
  failure.causes.assign(100'000, {.text = "request failed"});
  failure.causes.back().text = "HTTP 503";
  CHECK(test::classify(failure).type == FailureType::external_fault);
}

TEST_CASE("hostile steps of any size are classified", "[classifier][hostile]") {
  for (const test::HostileShape& shape : test::hostile_shapes) {
    for (const std::string_view piece : {"a", "ab ", "json cannot parse the timeout setting "}) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1'000}, std::size_t{300'000}}) {
        INFO(shape.name << ", " << bytes << " bytes of \"" << piece << '"');
        const test::HostileFailure hostile = shape.make(bytes, piece);
        const Classification found = test::classify_hostile(hostile, *default_classifier());
        CHECK(found.confidence <= 1.0);
        if (found.critical_step) CHECK(*found.critical_step < hostile.trajectory.size());
      }
    }
  }
}
