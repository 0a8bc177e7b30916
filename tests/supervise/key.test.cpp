// SPDX-License-Identifier: MIT
// Stores that the command encrypts.
#include "supervise/running.hpp"
#include "support/catch.hpp"

#include <algorithm>

using namespace triage;
using namespace triage::test;

namespace {

std::string key_file(const Workshop& shop, const std::string& id) {
  const std::string file = shop.file(id + ".key");
  std::ofstream(file) << id << ' ' << std::string(64, id.back()) << '\n';
  ::chmod(file.c_str(), 0600);
  return file;
}

}  // namespace

TEST_CASE("a run is encrypted with the key of a file, and the key can be changed", "[key]") {
  const Workshop shop;
  const std::string old_key = key_file(shop, "a1");
  const std::string new_key = key_file(shop, "b2");
  CHECK(shop.run({"--key-file", old_key, "--run", "r"}, {"echo", "unusual-words"}).status == 0);
  CHECK(read_text(shop.store()).find("unusual-words") == std::string::npos);
  const std::string log = read_text(shop.store() + "-wal");
  CHECK(log.find("unusual-words") == std::string::npos);
  CHECK_THAT(shop.triage({"runs", "--key-file", old_key}).out, ContainsSubstring("unusual-words"));
  CHECK(shop.triage({"explain", "r", "--key-file", new_key}).status != 0);
  ::setenv("TRIAGE_OLD_KEY_FILES", old_key.c_str(), 1);
  const Printed changed = shop.triage({"checkpoint", "rekey", "--key-file", new_key});
  ::unsetenv("TRIAGE_OLD_KEY_FILES");
  CHECK(changed.status == 0);
  CHECK_THAT(changed.out, ContainsSubstring("1 run"));
  CHECK_THAT(shop.triage({"explain", "r", "--key-file", new_key}).out,
             ContainsSubstring("unusual-words"));
  CHECK(shop.triage({"explain", "r", "--key-file", old_key}).status != 0);
}

TEST_CASE("a key that cannot be used ends the command, and is not printed", "[key]") {
  const Workshop shop;
  const std::string open_to_all = key_file(shop, "a1");
  ::chmod(open_to_all.c_str(), 0644);
  for (const std::string& file : {open_to_all, shop.file("missing.key")}) {
    const Printed refused = shop.run({"--key-file", file}, {"echo", "ran"});
    CHECK(refused.status != 0);
    CHECK(refused.out.empty());
    CHECK(refused.error.find(std::string(64, '1')) == std::string::npos);
  }
}

TEST_CASE("an encrypted store without its key is neither read nor written", "[key]") {
  const Workshop shop;
  const std::string key = key_file(shop, "a1");
  CHECK(shop.run({"--key-file", key, "--run", "r"}, {"true"}).status == 0);
  CHECK(shop.triage({"checkpoint", "verify", "--key-file", key}).status == 0);
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"runs"},
                                             {"checkpoint", "list"},
                                             {"checkpoint", "show", "r"},
                                             {"checkpoint", "verify"},
                                             {"checkpoint", "export"},
                                             {"cancel", "r"},
                                             {"resume", "r"}}) {
    const Printed refused = shop.triage(line);
    INFO(line.back());
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.error, ContainsSubstring("the store is encrypted; give its key"));
  }
  CHECK_THAT(shop.triage({"doctor"}).out, ContainsSubstring("the store is encrypted"));
  CHECK(shop.run({"--run", "other"}, {"echo", "unusual-words"}).out.empty());
  const Json runs = Json::parse(shop.triage({"runs", "--json", "--key-file", key}).out);
  CHECK(runs["runs"].size() == 1);
  CHECK(shop.triage({"checkpoint", "verify", "--key-file", key}).status == 0);
}

TEST_CASE("a store in clear text, and one under another key, are refused with a key", "[key]") {
  for (const bool clear : {true, false}) {
    const Workshop shop;
    const std::string key = key_file(shop, "a1");
    const std::string other = key_file(shop, "b2");
    std::vector<std::string> words{"--run", "r"};
    if (!clear) words.insert(words.end(), {"--key-file", other});
    CHECK(shop.run(words, {"true"}).status == 0);
    for (const std::vector<std::string>& line :
         std::vector<std::vector<std::string>>{{"runs"}, {"checkpoint", "verify"}}) {
      std::vector<std::string> with_key = line;
      with_key.insert(with_key.end(), {"--key-file", key});
      const Printed refused = shop.triage(with_key);
      CHECK(refused.status == 2);
      CHECK_THAT(refused.error, ContainsSubstring(clear ? "are not encrypted" : "the key \"b2\""));
    }
    const Printed refused = shop.run({"--key-file", key}, {"echo", "ran"});
    CHECK(refused.status == 2);
    CHECK(refused.out.find("ran") == std::string::npos);
  }
}
