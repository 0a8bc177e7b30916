// SPDX-License-Identifier: MIT
// What others change in a workspace while no attempt runs is not lost in a later rollback.
#include "supervise/attic.hpp"
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <string>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

namespace {

// Each attempt is another supervisor's.
void begin_attempt(Workspace& files, const Attic& attic, const std::string& run = "r") {
  files = attic.open_as(run);
  REQUIRE(files.keep());
  REQUIRE_OK(files.set_at_rest(false));
}

void end_attempt(Workspace& files) {
  REQUIRE(files.keep());
  REQUIRE_OK(files.set_at_rest(true));
}

}  // namespace

TEST_CASE("what others change between two attempts is kept beside the files by a later rollback",
          "[workspace]") {
  const Attic attic;
  Workspace files = attic.open_as("r");
  attic.write("gone.txt", "one\n");
  attic.write("mine.txt", "one\n");
  const FilesId start = files.keep().value();
  attic.write("mine.txt", "by attempt 1");
  end_attempt(files);
  const FilesId after_first = files.keep().value();

  attic.write("a.txt", "by somebody else");
  attic.write("notes/theirs.txt", "theirs");
  fs::remove(attic.at("gone.txt"));
  begin_attempt(files, attic);
  CHECK(attic.read("a.txt") == "by somebody else");
  attic.write("mine.txt", "by attempt 2");

  SECTION("as they left it") {
    REQUIRE(files.keep());
    CHECK(files.restore(start).value().conflicts.size() == 2);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
    CHECK(attic.read("gone.txt") == "one\n");
  }
  SECTION("to the end of the attempt before") {
    REQUIRE(files.keep());
    CHECK(files.restore(after_first).value().conflicts.size() == 2);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
    CHECK(attic.read("mine.txt") == "by attempt 1");
    return;
  }
  SECTION("several attempts later") {
    end_attempt(files);
    attic.write("b.txt", "later");
    begin_attempt(files, attic);
    end_attempt(files);
    begin_attempt(files, attic);
    REQUIRE(files.keep());
    CHECK(files.restore(start).value().conflicts.size() == 3);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
    CHECK(attic.read("b.txt.triage-conflict") == "later");
  }
  SECTION("with what the program has made of it") {
    attic.write("a.txt", "by somebody else, and the program");
    REQUIRE(files.keep());
    CHECK(files.restore(start).value().conflicts.size() == 2);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else, and the program");
  }
  SECTION("though a supervisor was killed as soon as it had kept them") {
    attic.write("mine.txt", "by attempt 1");
    REQUIRE_OK(files.set_at_rest(true));
    begin_attempt(files, attic);
    attic.write("mine.txt", "by attempt 3");
    REQUIRE(files.keep());
    CHECK(files.restore(start).value().conflicts.size() == 2);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
  }
  SECTION("but not where they come back as they are") {
    attic.write("a.txt", "one\n");
    REQUIRE(files.keep());
    CHECK(files.restore(start).value().conflicts.size() == 1);
    CHECK_FALSE(fs::exists(attic.at("a.txt.triage-conflict")));
  }
  CHECK(attic.read("a.txt") == "one\n");
  CHECK(attic.read("mine.txt") == "one\n");
  CHECK(attic.read("notes/theirs.txt.triage-conflict") == "theirs");
  CHECK_FALSE(fs::exists(attic.at("notes/theirs.txt")));

  // It is nobody else's any more.
  fs::remove_all(attic.at("notes"));
  CHECK(files.keep().value() == start);
  attic.write("a.txt", "by attempt 3");
  REQUIRE(files.keep());
  CHECK(files.restore(start).value().conflicts.empty());
}

TEST_CASE("a rollback to after what others have changed undoes only what the program did",
          "[workspace]") {
  const Attic attic;
  Workspace files = attic.open_as("r");
  const FilesId start = files.keep().value();
  end_attempt(files);
  attic.write("a.txt", "by somebody else");
  begin_attempt(files, attic);
  attic.write("a.txt", "by somebody else, and the program");
  const FilesId step = files.keep().value();
  attic.write("a.txt", "spoilt");
  REQUIRE(files.keep());
  CHECK(files.restore(step).value().conflicts.empty());
  CHECK(attic.read("a.txt") == "by somebody else, and the program");
  CHECK(files.keep().value() == step);
  SECTION("unless they change it again") {
    end_attempt(files);
    attic.write("a.txt", "by somebody else, again");
    begin_attempt(files, attic);
    CHECK(files.restore(step).value().conflicts.size() == 1);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else, again");
    return;
  }
  // They are still others' changes to what was before.
  files = attic.open_as("r");
  CHECK(files.restore(start).value().conflicts.size() == 1);
  CHECK(attic.read("a.txt.triage-conflict") == "by somebody else, and the program");
}

TEST_CASE("after a supervisor was killed, what is there counts as the attempt's", "[workspace]") {
  const Attic attic;
  Workspace files = attic.open_as("r");
  const FilesId start = files.keep().value();
  end_attempt(files);
  begin_attempt(files, attic);
  attic.write("a.txt", "by the program");
  begin_attempt(files, attic);
  CHECK(files.restore(start).value().conflicts.empty());
  CHECK(attic.read("a.txt") == "one\n");
}

TEST_CASE("branches keep what others changed between the attempts of their origin", "[workspace]") {
  const Attic attic;
  Workspace origin = attic.open_as("origin");
  const FilesId start = origin.keep().value();
  end_attempt(origin);
  attic.write("a.txt", "by somebody else");
  begin_attempt(origin, attic, "origin");
  attic.write("b.txt", "by the origin");
  const FilesId step = origin.keep().value();
  end_attempt(origin);

  Workspace branch = attic.open_as("branch");
  SECTION("when they go back to before that") {
    CHECK(branch.restore(start, "origin").value().conflicts.size() == 1);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
    attic.write("a.txt", "by the branch");
    REQUIRE_OK(branch.leave_to("origin", branch.keep().value()));
    // It has no more to do with them.
    Workspace other = attic.open_as("other");
    CHECK(other.restore(start, "origin").value().conflicts.empty());
    CHECK_FALSE(fs::exists(attic.at("a.txt.triage-conflict-2")));
  }
  SECTION("also if another branch has left it there") {
    CHECK(branch.restore(step, "origin").value().conflicts.empty());
    attic.write("c.txt", "by the branch");
    REQUIRE_OK(branch.leave_to("origin", branch.keep().value()));
    SECTION("to a branch") {
      Workspace other = attic.open_as("other");
      CHECK(other.restore(start, "origin").value().conflicts.size() == 1);
    }
    SECTION("to the origin") {
      begin_attempt(origin, attic, "origin");
      CHECK(origin.restore(start).value().conflicts.size() == 1);
    }
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
    CHECK_FALSE(fs::exists(attic.at("c.txt")));
  }
  CHECK(attic.read("a.txt") == "one\n");
}

TEST_CASE("what others change in a run that waits outlives its later rollback", "[workspace]") {
  const Workshop shop;
  fs::create_directories(shop.file("tree"));
  std::ofstream(shop.file("tree/f")) << "one\n";
  std::ofstream(shop.file("p.json"))
      << R"({"default": {"strategy": "rollback", "or_start": true}})";
  ::setenv("XDG_STATE_HOME", shop.file("state").c_str(), 1);
  const std::string program =
      shop.script("a",
                  "cd $W/tree\ncase $TRIAGE_ATTEMPT in\n"
                  "1) echo mine > mine; kill -INT $$ ;;\n"
                  "2) cat f; echo spoilt >> mine; echo HTTP 503 >&2; exit 1 ;;\n"
                  "*) cat f f.triage-conflict; ls; exit 0 ;;\nesac");
  const Printed first = shop.run({"--run", "r", "--workspace", shop.file("tree"), "--policy",
                                  shop.file("p.json"), "--exit-status", "triage"},
                                 {program});
  INFO(first.error);
  REQUIRE(first.status == 5);
  std::ofstream(shop.file("tree/f")) << "by somebody else\n";
  const Printed resumed = shop.triage({"resume", "r"});
  INFO(resumed.error);
  CHECK(resumed.out == "by somebody else\none\nby somebody else\nf\nf.triage-conflict\n");
  CHECK_THAT(resumed.error, ContainsSubstring("conflict: somebody has changed a file meanwhile"));
  ::unsetenv("XDG_STATE_HOME");
}

TEST_CASE("a program that cannot be executed leaves its workspace to others", "[workspace]") {
  const Workshop shop;
  fs::create_directories(shop.file("tree"));
  std::ofstream(shop.file("tree/f")) << "one\n";
  std::ofstream(shop.file("p.json"))
      << R"({"default": {"strategy": "rollback", "or_start": true}})";
  ::setenv("XDG_STATE_HOME", shop.file("state").c_str(), 1);
  const std::string program = shop.script("a", "");
  std::ofstream(program) << "#!/no/such/interpreter\n";
  const auto run = shop.run_line({"--run", "r", "--workspace", shop.file("tree"), "--policy",
                                  shop.file("p.json"), "--exit-status", "triage"},
                                 {program});
  const Printed first = run_program(run);
  INFO(first.error);
  REQUIRE(first.status == 5);
  std::ofstream(shop.file("tree/f")) << "by somebody else\n";
  shop.script("a",
              "cd $W/tree\n[ $TRIAGE_ATTEMPT -gt 2 ] && { cat f f.triage-conflict; exit 0; }\n"
              "echo HTTP 503 >&2; exit 1");
  const Printed resumed = shop.triage({"resume", "r"});
  INFO(resumed.error);
  CHECK(resumed.out == "one\nby somebody else\n");
  ::unsetenv("XDG_STATE_HOME");
}
