// SPDX-License-Identifier: MIT
#include "triage/record.hpp"

#include "fuzz/record_decoder.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <cmath>
#include <limits>

using namespace triage;

namespace {

std::string random_text(Random& random) {
  std::string text(random.next() % 40, '\0');
  for (char& c : text) c = static_cast<char>(random.next());  // Any bytes, UTF-8 or not.
  return text;
}

Json random_json(Random& random, int depth) {
  switch (random.next() % (depth > 0 ? 9U : 7U)) {
    case 0: return nullptr;
    case 1: return random.next() % 2 == 0;
    case 2: return random.next() >> (random.next() % 64);
    case 3: return -static_cast<std::int64_t>(random.next() >> (1 + random.next() % 63));
    case 4:
      return std::ldexp(unit_interval(random.next()) - 0.5, static_cast<int>(random.next() % 100));
    case 5:
    case 6: return random_text(random);
    case 7: {
      Json array = Json::array();
      for (std::uint64_t i = random.next() % 6; i > 0; --i) {
        array.push_back(random_json(random, depth - 1));
      }
      return array;
    }
    default: {
      Json object = Json::object();
      for (std::uint64_t i = random.next() % 6; i > 0; --i) {
        object[random_text(random)] = random_json(random, depth - 1);
      }
      return object;
    }
  }
}

Step random_step(Random& random) {
  const auto maybe_text = [&]() -> std::optional<std::string> {
    if (random.next() % 2 == 0) return std::nullopt;
    return random_text(random);
  };
  const auto maybe_code = [&]() -> std::optional<int> {
    if (random.next() % 2 == 0) return std::nullopt;
    return static_cast<int>(random.next());
  };
  const auto maybe_json = [&]() {
    return random.next() % 2 == 0 ? Json() : random_json(random, 3);
  };
  return {.action = random_text(random),
          .tool_called = maybe_text(),
          .tool_input = maybe_json(),
          .tool_output = maybe_json(),
          .llm_output = maybe_text(),
          .error = maybe_text(),
          .exception_type = maybe_text(),
          .http_status = maybe_code(),
          .json_rpc_code = maybe_code(),
          .grpc_status = maybe_code(),
          .agent_id = maybe_text(),
          .idempotent = random.next() % 2 == 0,
          .metadata = maybe_json()};
}

std::string encoded(const Json& json) {
  std::string bytes;
  detail::encode_cbor(json, bytes);
  return bytes;
}

std::string encoded(const Step& step) {
  std::string bytes;
  detail::encode_step(step, bytes);
  return bytes;
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth - 1), '\x81') + '\x80';
}

}  // namespace

TEST_CASE("a damaged record is taken for what its kind says only if that is credible", "[record]") {
  std::string step;
  detail::encode_step({.action = "look", .tool_called = "search"}, step);
  std::string intent;
  detail::encode_cbor(Json{{"key", "charge:42"}, {"generation", 1}}, intent);
  const WallTime time{};
  const auto judged = [&](RecordKind real, RecordKind stored, std::string body, int flipped_byte) {
    const std::uint32_t checksum = record_checksum("r", 1, 5, real, time, body);
    if (flipped_byte >= 0) body[static_cast<std::size_t>(flipped_byte)] ^= 0x11;
    return credible_kind("r", 1, 5, stored, time, body, checksum);
  };
  for (int other = 1; other <= 24; ++other) {
    const auto stored = static_cast<RecordKind>(other);
    INFO(to_string(stored));
    // An intent is recognised however many bits of its kind are wrong.
    for (const RecordKind real : {RecordKind::effect_intended, RecordKind::compensation_intended}) {
      if (stored != real) CHECK(judged(real, stored, intent, -1) == real);
      // Even with a damaged body it is not taken for a step.
      const auto both = judged(real, stored, intent, static_cast<int>(intent.size()) - 1);
      const bool of_effect =
          stored >= RecordKind::effect_intended && stored <= RecordKind::effect_withdrawn;
      const bool of_compensation = stored >= RecordKind::compensation_intended &&
                                   stored <= RecordKind::compensation_withdrawn;
      if (of_effect || of_compensation) {
        CHECK((!both || both == stored));
      } else {
        CHECK_FALSE(both);
      }
    }
  }
  CHECK(judged(RecordKind::step, RecordKind::step, step, static_cast<int>(step.size()) - 1) ==
        RecordKind::step);
  CHECK_FALSE(judged(RecordKind::step, RecordKind::step, step, 0));  // It is no longer well-formed.
  CHECK_FALSE(judged(RecordKind::step, static_cast<RecordKind>(99), step, -1));
}

TEST_CASE("CRC-32C gives the value of its specification", "[record]") {
  CHECK(detail::crc32c("123456789") == 0xE3069283U);
  CHECK(detail::crc32c("") == 0U);
  CHECK(detail::crc32c("6789", detail::crc32c("12345")) == 0xE3069283U);
  // RFC 3720, appendix B.4.
  CHECK(detail::crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(detail::crc32c(std::string(32, '\xff')) == 0x62A8AB43U);
}

TEST_CASE("a record's checksum covers its content and its place", "[record]") {
  const WallTime time{std::chrono::milliseconds{1'700'000'000'000}};
  const auto sum = record_checksum("run-1", 1, 2, RecordKind::step, time, "body");
  CHECK(sum == record_checksum("run-1", 1, 2, RecordKind::step, time, "body"));
  CHECK(sum != record_checksum("run-2", 1, 2, RecordKind::step, time, "body"));
  CHECK(sum != record_checksum("run-1b", 1, 2, RecordKind::step, time, "ody"));
  CHECK(sum != record_checksum("run-1", 2, 2, RecordKind::step, time, "body"));
  CHECK(sum != record_checksum("run-1", 1, 3, RecordKind::step, time, "body"));
  CHECK(sum != record_checksum("run-1", 1, 2, RecordKind::usage, time, "body"));
  CHECK(sum != record_checksum("run-1", 1, 2, RecordKind::step, time + std::chrono::milliseconds{1},
                               "body"));
  CHECK(sum != record_checksum("run-1", 1, 2, RecordKind::step, time, "bodz"));
}

TEST_CASE("the example in docs/checkpoint_format.md is true", "[record]") {
  const std::string body = encoded(Step{.action = "fetch", .tool_called = "http_get"});
  CHECK(body ==
        "\xa2\x61"
        "a\x65"
        "fetch\x61t\x68http_get");
  CHECK(record_checksum("run-1", 1, 2, RecordKind::step,
                        WallTime(std::chrono::milliseconds(1'700'000'000'000)),
                        body) == 0x69319d19U);
}

TEST_CASE("any JSON comes back as it was, whatever its text is made of", "[record]") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    const Json json = random_json(*random, 5);
    const auto decoded = detail::decode_cbor(encoded(json));
    REQUIRE_OK(decoded);
    REQUIRE(decoded.value() == json);
    REQUIRE(decoded.value().is_number_float() == json.is_number_float());
  }
}

TEST_CASE("numbers at the ends of their ranges come back as they were", "[record]") {
  for (const std::uint64_t n : {0ULL, 23ULL, 24ULL, 255ULL, 256ULL, 65'535ULL, 65'536ULL,
                                4'294'967'295ULL, 4'294'967'296ULL, ~0ULL}) {
    const Json json = n;
    CHECK(detail::decode_cbor(encoded(json)).value() == json);
  }
  for (const std::int64_t n :
       {std::int64_t{-1}, std::int64_t{-24}, std::int64_t{-25}, std::int64_t{-256},
        std::int64_t{-257}, std::numeric_limits<std::int64_t>::min()}) {
    const Json json = n;
    CHECK(detail::decode_cbor(encoded(json)).value() == json);
  }
}

TEST_CASE("any step comes back as it was", "[record]") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    const Step step = random_step(*random);
    const auto decoded = detail::decode_step(encoded(step));
    REQUIRE_OK(decoded);
    REQUIRE(decoded.value() == step);
    const auto as_map = detail::decode_cbor(encoded(step));  // The body is also ordinary CBOR.
    REQUIRE_OK(as_map);
    REQUIRE(as_map.value().is_object());
  }
}

TEST_CASE("a step is encoded in the walk that checks it, unless it cannot be stored", "[record]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    const Step step = random_step(*random);
    const Record::Bytes once = detail::encode_if_storable(step);
    REQUIRE(once != nullptr);
    REQUIRE(*once == encoded(step));
  }
  const auto with = [](const Json& inner, int depth) {
    Step step{.action = "a"};
    for (int i = 0; i < depth; ++i) step.tool_output = Json::array({std::move(step.tool_output)});
    if (inner.is_binary() || inner.is_discarded()) step.metadata = Json{{"inner", inner}};
    return step;
  };
  CHECK(detail::encode_if_storable(with({}, max_json_depth)) != nullptr);
  CHECK(detail::encode_if_storable(with({}, max_json_depth + 1)) == nullptr);
  CHECK(detail::encode_if_storable(with({}, 100'000)) == nullptr);
  CHECK(detail::encode_if_storable(with(Json::binary({1}), 1)) == nullptr);
  CHECK(detail::encode_if_storable(with(Json(Json::value_t::discarded), 1)) == nullptr);
  CHECK(detail::encode_if_storable({.tool_input = Json::binary({1})}) == nullptr);
  CHECK(detail::encode_if_storable({.tool_input = std::nan("")}) != nullptr);
}

TEST_CASE("whether a step has an error is known without decoding it", "[record]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    const Step step = random_step(*random);
    const std::string bytes = encoded(step);
    CHECK(detail::has_error(bytes) == step.error.has_value());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      if (detail::has_error(std::string_view(bytes).substr(0, size))) CHECK(step.error);
    }
  }
  CHECK_FALSE(detail::has_error("\xff"));
  CHECK_FALSE(detail::has_error("\xa1\x61i" + nested(1'000'000)));
}

TEST_CASE("fields that a later minor version adds to a step are skipped", "[record]") {
  std::string bytes;
  detail::encode_cbor(Json{{"a", "search"}, {"later", {{"deep", {1, 2}}}}, {"t", "web"}}, bytes);
  const auto step = detail::decode_step(bytes);
  REQUIRE_OK(step);
  CHECK(step.value().action == "search");
  CHECK(step.value().tool_called == "web");
}

TEST_CASE("nesting is read up to the limit and refused beyond it", "[record]") {
  REQUIRE_OK(detail::decode_cbor(nested(detail::max_body_depth)));
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor(nested(detail::max_body_depth + 1)));
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor(nested(1'000'000)));
  CHECK_ERRC(Errc::corrupt, detail::decode_step("\xa1\x61i" + nested(1'000'000)));
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"));
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor("\xbb\xff\xff\xff\xff\xff\xff\xff\xff"));
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor("\x7b\xff\xff\xff\xff\xff\xff\xff\xff"));
}

TEST_CASE("a body that was cut short is refused at every length", "[record]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    const std::string step = encoded(random_step(*random));
    const std::string json = encoded(Json{{"value", random_json(*random, 4)}});
    for (std::size_t size = 0; size < step.size(); ++size) {
      REQUIRE(detail::decode_step(std::string_view(step).substr(0, size)).has_error());
    }
    for (std::size_t size = 0; size < json.size(); ++size) {
      REQUIRE(detail::decode_cbor(std::string_view(json).substr(0, size)).has_error());
    }
    REQUIRE(detail::decode_step(step + '\0').has_error());
    REQUIRE(detail::decode_cbor(json + '\0').has_error());
  }
}

TEST_CASE("flipped bits never crash the decoder", "[record]") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    std::string bytes = encoded(random_step(*random));
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const auto flip = static_cast<char>(1U << bit % 8);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
      test::decode_and_check(bytes);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
    }
  }
}

TEST_CASE("the fuzz target's seeds pass", "[record]") {
  for (const std::string& seed : test::decoder_seeds()) test::decode_and_check(seed);
}

TEST_CASE("a record gives its body in every form it can have", "[record]") {
  const WallTime time{};
  const auto patch = std::make_shared<const Json>(Json{{"page", 1}});
  const Record live(3, RecordKind::state_changed, time, patch);
  std::string bytes;
  live.encode_body(bytes);
  const Record stored(3, RecordKind::state_changed, time,
                      std::make_shared<const std::string>(bytes));
  CHECK(live.body().value() == *patch);
  CHECK(stored.body().value() == *patch);
  CHECK_ERRC(Errc::invalid_argument, live.step());
  const Record bad(3, RecordKind::step, time, std::make_shared<const std::string>("\xff"));
  CHECK_ERRC(Errc::corrupt, bad.step());
  CHECK_ERRC(Errc::corrupt, bad.body());
}
