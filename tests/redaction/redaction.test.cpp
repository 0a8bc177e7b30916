// SPDX-License-Identifier: MIT
// Which secrets are found in texts, and what is left unchanged.
#include "triage/redaction.hpp"

#include "support/catch.hpp"
#include "support/program.hpp"

#include <sstream>
#include <vector>

using namespace triage;

namespace {

const std::string folder = TRIAGE_SOURCE_DIR "/tests/redaction/secrets/";

std::vector<std::string> lines_of(const std::string& name) {
  std::istringstream in(test::read_text(folder + name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string redacted(const std::string& text) { return common_secrets()->text(text); }

// Whether six consecutive bytes of the secret are still visible.
bool shows(const std::string& text, const std::string& secret) {
  constexpr std::size_t piece = 6;
  if (secret.size() <= piece) return text.find(secret) != std::string::npos;
  for (std::size_t at = 0; at + piece <= secret.size(); ++at) {
    if (text.find(secret.substr(at, piece)) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// ⟦ and ⟧ enclose the secret of each form.
TEST_CASE("of 205 forms of secrets at most 11 are missed", "[redaction]") {
  constexpr std::string_view open = "⟦";
  constexpr std::string_view close = "⟧";
  std::size_t forms = 0;
  std::string missed;
  std::size_t misses = 0;
  for (const std::string& line : lines_of("forms.jsonl")) {
    const std::string marked = Json::parse(line)["text"];
    const std::size_t begin = marked.find(open);
    const std::size_t end = marked.find(close);
    REQUIRE(end != std::string::npos);
    const std::size_t inside = begin + open.size();
    const std::string secret = marked.substr(inside, end - inside);
    const std::string text = marked.substr(0, begin) + secret + marked.substr(end + close.size());
    ++forms;
    if (!shows(redacted(text), secret)) continue;
    ++misses;
    missed += text + "\n";
  }
  INFO(missed);
  CHECK(forms == 205);
  CHECK(misses <= 11);
}

TEST_CASE("what only speaks of secrets, or looks a little like one, stays as it is",
          "[redaction]") {
  for (const std::string& line : lines_of("harmless.txt")) CHECK(redacted(line) == line);
}

TEST_CASE("of a text only the secret goes, once", "[redaction]") {
  CHECK(redacted("GET postgres://app:hunter2@db/x failed") ==
        "GET postgres://app:[redacted]@db/x failed");
  CHECK(redacted("password=a1b2c3d4&x=1") == "password=[redacted]&x=1");
  const std::string again = redacted("Authorization: Bearer abcDEF123456\nAccept: */*");
  CHECK(again == "Authorization: [redacted]\nAccept: */*");
  CHECK(redacted(again) == again);
  CHECK(redacted("").empty());
}

TEST_CASE("a placeholder in angle brackets takes nothing of the next lines", "[redaction]") {
  CHECK(redacted("usage: tool -p <password>\nconnection refused") ==
        "usage: tool -p <password>\nconnection refused");
  CHECK(redacted("<password>qwerty123</password> refused") ==
        "<password>[redacted]</password> refused");
}

TEST_CASE("members with a secret's name lose what they hold, and keep their names", "[redaction]") {
  Json value = Json::parse(R"({"user": "ann", "password": "x", "token": 123456789, "auth": null,
    "max_tokens": 4096, "list": [{"api_key": ["a", "b"]}, "sk_live_0123456789"],
    "headers": [["Authorization", "x"], ["Accept", "*/*"]],
    "pairs": [{"name": "Cookie", "value": "x"}, {"name": "page", "value": "2"}]})");
  redact(value, *common_secrets());
  const std::string gone(redacted_mark);
  CHECK(value["user"] == "ann");
  CHECK(value["password"] == gone);
  CHECK(value["token"] == gone);
  CHECK(value["auth"].is_null());
  CHECK(value["max_tokens"] == 4096);
  CHECK(value["list"] == Json::array({Json{{"api_key", {gone, gone}}}, gone}));
  CHECK(value["headers"][0][1] == gone);
  CHECK(value["headers"][1][1] == "*/*");
  CHECK(value["pairs"][0]["value"] == gone);
  CHECK(value["pairs"][1]["value"] == "2");
}

TEST_CASE("members whose names are secrets are all kept", "[redaction]") {
  Json value = {{"sk_live_0123456789", 1},
                {"sk_live_1123456789", {{"sk_live_3123456789", 3}}},
                {"sk_live_2123456789", 2},
                {"[redacted] 3", "theirs"},
                {"plain", 4}};
  redact(value, *common_secrets());
  const Json wanted = {{"[redacted]", 1},
                       {"[redacted] 2", {{"[redacted]", 3}}},
                       {"[redacted] 3", "theirs"},
                       {"[redacted] 4", 2},
                       {"plain", 4}};
  CHECK(value == wanted);
  Json again = value;
  redact(again, *common_secrets());
  CHECK(again == value);
}

TEST_CASE("known secrets and further names are found, too", "[redaction]") {
  const auto redactor =
      common_secrets({.known = {"plain words", "no"}, .names = {"Favourite-Pet"}});
  CHECK(redactor->text("with plain words, no more") == "with [redacted], no more");
  CHECK(redactor->text("favourite_pet=rex") == "favourite_pet=[redacted]");
  CHECK(redactor->names_secret("favouritePet"));
}

TEST_CASE("any bytes are read, in linear time", "[redaction]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(redacted(all) == all);
  // Pieces that make a careless search rescan the text.
  for (const char* piece :
       {"://", "password ", "-----BEGIN ", "password=\"", "\\\"token", ":AA", "name=", "<secret>",
        "--token ", "eyJ", "a.b@", "1", "\\n", "[1m", "…", "-----END PRIVATE KEY-----\n"}) {
    std::string text;
    while (text.size() < 300'000) text += piece;
    CHECK_FALSE(redacted(text).empty());
  }
}

// Each separator looked for the end of the whole row.
TEST_CASE("rows of separators take linear time", "[redaction]") {
  constexpr std::size_t many = 4'000'000;
  for (const char separator : {'=', ':'}) {
    const std::string row(many, separator);
    CHECK(redacted(row) == row);
    CHECK(redacted("password" + row + "hunter2") == "password" + row + "[redacted]");
  }
  CHECK(redacted("password == hunter2") == "password == [redacted]");
  CHECK(redacted("password => \"hunter2\"") == "password => \"[redacted]\"");
}

TEST_CASE("what is left of a known secret where a text was cut goes, too", "[redaction]") {
  const std::string key = "K9x710K9x711K9x712K9x713";
  const auto redactor = common_secrets({.known = {key}});
  for (std::size_t left = 8; left < key.size(); ++left) {
    const std::string half = "sent " + key.substr(0, left);
    CHECK(redactor->text(half) == "sent [redacted]");
    CHECK(redactor->text(half + "… and more") == "sent [redacted]… and more");
    CHECK(redactor->text(half + " and more") == half + " and more");
  }
  CHECK(redactor->text("sent K9x710K") == "sent K9x710K");
  CHECK(redactor->text(key + key) == "[redacted]");
}

TEST_CASE("a secret directly behind a colour or an escape is found", "[redaction]") {
  const std::string key = std::string("ghp_") + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6";
  const std::string web = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
  const std::string hex = "SK0123456789abcdef0123456789abcdef";
  for (const std::string before : {"\x1b[33m", "\x1b[1;31m", "\\u001b[0m", "first\\n", "first\\t",
                                   "first\\\\n", "first\\r\\n", "u?k%3D"}) {
    INFO(before);
    for (const std::string& one : {key, web, hex}) {
      CHECK(redacted(before + one) == before + "[redacted]");
    }
    CHECK(redacted(before + "Bearer abcDEF123456") == before + "Bearer [redacted]");
  }
  CHECK(redacted("GET\\r\\ncookie: sid9f8e7d6c") == "GET\\r\\ncookie: [redacted]");
  CHECK(redacted("\x1b[33mx-api-key: 9f8e7d6c5b4a") == "\x1b[33mx-api-key: [redacted]");
  CHECK(redacted("C:\\token=9f8e7d6c5b4a") == "C:\\token=[redacted]");
}

TEST_CASE("a private key whose beginning is lost is removed", "[redaction]") {
  const std::string body = "MIIEvQIBADANBgkqhkiG9w0BAQEF\n  AASCBKcwggSjAgEAAoIBAQC7+/=\n";
  const std::string end = "-----END RSA PRIVATE KEY-----\n";
  CHECK(redacted("a word\n\n" + body + end) == "a word\n\n[redacted]" + end);
  CHECK(redacted("a word\n" + body + end + "done") == "a word\n[redacted]" + end + "done");
  CHECK(redacted(R"({"key": "MIIEvQIB\nADANBgkq\n-----END PRIVATE KEY-----"})") ==
        R"({"key": "[redacted]-----END PRIVATE KEY-----"})");
  CHECK(redacted(body + "-----END CERTIFICATE-----") == body + "-----END CERTIFICATE-----");
  const std::string whole = "-----BEGIN PRIVATE KEY-----\n" + body + end;
  CHECK(redacted(whole + body + end) ==
        "-----BEGIN PRIVATE KEY-----[redacted]" + end + "[redacted]" + end);
}

TEST_CASE("a secret that is a number or a member's name goes, too", "[redaction]") {
  Json value = Json::parse(R"({"account": 4711081512, "by": {"4711081512": 1, "page": 2},
    "list": [{"hunter2-hunter2": "x"}, 4711081513, 1e300, 0.4711081512]})");
  redact(value, *common_secrets({.known = {"4711081512", "hunter2-hunter2"}}));
  CHECK(value == Json::parse(R"({"account": "[redacted]", "by": {"[redacted]": 1, "page": 2},
    "list": [{"[redacted]": "x"}, 4711081513, 1e300, 0.4711081512]})"));
}
