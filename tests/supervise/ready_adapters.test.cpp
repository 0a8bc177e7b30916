// SPDX-License-Identifier: MIT
// The adapters that are delivered, and the command lines of their programs.
#include "supervise/adapters/command_line.hpp"
#include "supervise/adapters/find_adapter.hpp"
#include "triage/policies/yaml.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::supervise;

namespace {

Result<Json> read_yaml(std::string_view text) { return json_from_yaml(text, "the adapter"); }

}  // namespace

TEST_CASE("the command line of each program is read as that program reads it", "[adapters]") {
  const auto ready = [](const std::string& name) {
    return find_adapter(name, name, TRIAGE_ADAPTERS, &read_yaml).value();
  };
  const auto claude = ready("claude");
  const CommandLine named(*claude, {"claude", "-p", "do it", "--session-id", "s0", "-w", "tree"});
  CHECK(named.without(claude->again_without) == Words{"claude", "-p", "do it", "-w", "tree"});
  const CommandLine unkept(*claude, {"claude", "-p", "do it", "--no-session-persistence"});
  CHECK(unkept.has_any(claude->resume->unless));

  const auto codex = ready("codex");
  const CommandLine by_id(*codex, {"codex", "exec", "resume", "id0", "--json"});
  CHECK_FALSE(by_id.prompt().has_value());  // It comes on standard input.
  CHECK(by_id.resumed("id1", "go on") ==
        Words{"codex", "exec", "--json", "resume", "id1", "go on"});
  const CommandLine newest(*codex, {"codex", "exec", "--json", "resume", "--last", "do it"});
  CHECK(newest.prompt() == "do it");
  const CommandLine both(*codex, {"codex", "exec", "--json", "resume", "id0", "do it"});
  CHECK(both.prompt() == "do it");
  const CommandLine review(*codex, {"codex", "exec", "review", "--json", "--base", "main"});
  CHECK(review.fits());
  CHECK_FALSE(review.prompt().has_value());
  CHECK_FALSE(review.resumed("id1", "go on").has_value());
}
