// SPDX-License-Identifier: MIT
// The built command on damaged stores, on files that are not stores, and with wrong arguments.
#include "cli/stores.hpp"

#include <filesystem>
#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

// Flips one bit in the last byte of a record's body.
void damage(const std::string& path, const std::string& which) {
  tamper(path,
         "UPDATE records SET body = CAST(substr(body, 1, length(body) - 1) || "
         "CASE WHEN substr(body, -1) = x'00' THEN x'01' ELSE x'00' END AS BLOB) WHERE " +
             which);
}

}  // namespace

TEST_CASE("verify reports a flipped byte and the newest position before it", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  damage(folder.file("a.db"), "seq = 6 AND run = (SELECT run FROM records WHERE seq = 12 LIMIT 1)");
  const Printed text = triage_command({"checkpoint", "verify", folder.file("a.db")});
  CHECK(text.status == 3);
  CHECK_THAT(text.out, ContainsSubstring("record 6"));
  CHECK_THAT(text.out, ContainsSubstring("1 damaged record in 1 run"));
  const Printed json = triage_command({"checkpoint", "verify", folder.file("a.db"), "--json"});
  CHECK(json.status == 3);
  const Json document = json_of(json);
  CHECK(document["intact"] == false);
  REQUIRE(document["findings"].size() == 1);
  CHECK(document["findings"][0]["run"]["id"] == "good");
  CHECK(document["findings"][0]["damaged"][0]["seq"] == 6);
  CHECK(triage_command({"checkpoint", "verify", folder.file("a.db"), "--run", "lost"}).status == 0);
}

TEST_CASE("show and list of a damaged run give what is intact, and say so", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  damage(folder.file("a.db"), "seq = 6");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"checkpoint", "show", folder.file("a.db"), "good", "--json"},
        std::vector<std::string>{"checkpoint", "list", folder.file("a.db"), "--run", "good",
                                 "--json"}}) {
    const Printed printed = triage_command(arguments);
    CHECK(printed.status == 4);
    CHECK_THAT(printed.error, ContainsSubstring("damaged record"));
    CHECK(json_of(printed)["damaged_records"] == 1);
  }
}

TEST_CASE("a run whose first record is damaged is corrupt", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  damage(folder.file("a.db"), "seq = 1");
  const Printed printed = triage_command({"checkpoint", "show", folder.file("a.db"), "good"});
  CHECK(printed.status == 3);
  CHECK_THAT(printed.error, ContainsSubstring("first record"));
  CHECK(triage_command({"checkpoint", "verify", folder.file("a.db")}).status == 3);
}

TEST_CASE("what is not there is said to be missing, with status 1", "[cli]") {
  const TempFolder folder;
  const Printed file = triage_command({"checkpoint", "list", folder.file("none.db")});
  CHECK(file.status == 1);
  CHECK_THAT(file.error, ContainsSubstring("none.db"));
  CHECK_FALSE(std::filesystem::exists(folder.file("none.db")));
  make_store(folder.file("a.db"));
  for (const std::string& what : {std::string("nobody"), std::string("good@9999")}) {
    const Printed run = triage_command({"checkpoint", "show", folder.file("a.db"), what});
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK_THAT(run.error, ContainsSubstring(what));
  }
  CHECK(triage_command({"checkpoint", "list", folder.file("a.db"), "--run", "nobody"}).status == 1);
  CHECK(triage_command({"checkpoint", "verify", folder.file("a.db"), "--run", "nobody"}).status ==
        1);
}

TEST_CASE("a file that is not a store is refused and left alone", "[cli]") {
  const TempFolder folder;
  const std::string text(5000, 'x');
  std::ofstream(folder.file("text.db")) << text;
  const Printed printed = triage_command({"checkpoint", "list", folder.file("text.db")});
  CHECK(printed.status == 3);
  CHECK_THAT(printed.error, ContainsSubstring("text.db"));
  CHECK(read_text(folder.file("text.db")) == text);
  tamper(folder.file("other.db"), "CREATE TABLE notes(text); INSERT INTO notes VALUES('mine')");
  const Printed other = triage_command({"checkpoint", "verify", folder.file("other.db")});
  CHECK(other.status == 9);
  CHECK_THAT(other.error, ContainsSubstring("other.db"));
}

TEST_CASE("wrong arguments are misuse, and the error says what is allowed", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& says) {
    const Printed printed = triage_command(arguments);
    INFO(printed.out << printed.error);
    CHECK(printed.status == 2);
    CHECK(printed.out.empty());
    CHECK_THAT(printed.error, ContainsSubstring(says));
  };
  const std::string store = folder.file("a.db");
  refused({}, "checkpoint");
  refused({"checkpiont", "list", store}, "checkpiont");
  refused({"checkpoint"}, "list");
  refused({"checkpoint", "lsit", store}, "lsit");
  refused({"checkpoint", "list", "mongo://localhost"}, "sqlite:PATH");
  refused({"checkpoint", "list", ":memory:"}, "memory");
  refused({"checkpoint", "list", ""}, "PATH");
  refused({"checkpoint", "list", store, "--status", "broken"}, "escalated");
  refused({"checkpoint", "list", store, "--run", "good", "--status", "finished"}, "--run");
  refused({"checkpoint", "list", store, "--limit", "-1"}, "--limit");
  refused({"checkpoint", "list", store, "--nonsense"}, "--nonsense");
  refused({"checkpoint", "show", store, "good", "--steps", "many"}, "all");
  refused({"checkpoint", "show", store, "bad name"}, "bad name");
  refused({"checkpoint", "show", store, "good@x"}, "good@x");
}

TEST_CASE("a number out of range is refused with the range", "[cli]") {
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"run", "--memory", "-1", "--", "true"},
           {"run", "--cpu", "0", "--", "true"},
           {"run", "--files", "18446744073709551616", "--", "true"},
           {"runs", "--limit", "-1"},
           {"checkpoint", "list", "--limit", "x"},
           {"checkpoint", "compact", "r", "--bytes", "-1"},
           {"checkpoint", "export", "--newest", "0"},
           {"chaos", "--seed", "-1", "--", "true"},
           {"effect", "k", "--not-done-status", "999999", "--", "true"},
           {"correct", "r", "--failure", "0", "--type", "timeout"}}) {
    const Printed refused = triage_command(line);
    INFO(refused.error);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring(" not in range "));
    CHECK(refused.error.size() < 120);
  }
}

TEST_CASE("a misspelt command is told which one was probably meant", "[cli]") {
  const auto says = [](const std::vector<std::string>& arguments) {
    return triage_command(arguments).error;
  };
  CHECK_THAT(says({"checkpiont", "list", "x.db"}), ContainsSubstring("mean \"checkpoint list\"?"));
  CHECK_THAT(says({"checkpoint", "lsit"}), ContainsSubstring("mean \"checkpoint list\"?"));
  CHECK_THAT(says({"clasify", "--model", "x"}), ContainsSubstring("mean \"classify\"?"));
  CHECK(says({"clasify"}) ==
        "triage: there is no command \"clasify\"; did you mean \"classify\"?\n");
  const std::string unlike = says({"xylophone", "coffee"});
  CHECK_THAT(unlike, !ContainsSubstring("did you mean"));
  CHECK_THAT(unlike, ContainsSubstring("\"xylophone coffee\"; there are\n"));
  const std::string group = says({"checkpoint"});
  CHECK_THAT(group, ContainsSubstring("checkpoint verify"));
  CHECK_THAT(group, !ContainsSubstring("policy"));
}

TEST_CASE("a misspelt option is told which one was probably meant, whatever stands behind it",
          "[cli]") {
  const auto says = [](const std::vector<std::string>& arguments) {
    const Printed printed = triage_command(arguments);
    CHECK(printed.status == 2);
    return printed.error.substr(0, printed.error.find('\n'));
  };
  CHECK(says({"run", "--timeot", "5s", "--", "echo", "-n", "hi"}) ==
        "The following argument was not expected: --timeot; did you mean \"--timeout\"?");
  CHECK(says({"run", "--timeot=5s", "--", "echo"}) ==
        "The following argument was not expected: --timeot=5s; did you mean \"--timeout\"?");
  CHECK(says({"run", "--timeot", "5s", "--xylophone", "--", "echo"}) ==
        "The following arguments were not expected: --timeot --xylophone");
  CHECK(says({"runs", "a", "b", "c"}) == "The following arguments were not expected: b c");
}

TEST_CASE("an option whose value is empty is refused, not left out", "[cli]") {
  const TempFolder folder;
  const std::string store = folder.file("a.db");
  make_store(store);
  for (std::vector<std::string> line : std::vector<std::vector<std::string>>{
           {"checkpoint", "export", store, "--out"},
           {"checkpoint", "export", store, "--run"},
           {"checkpoint", "list", store, "--run"},
           {"checkpoint", "prune", store, "--keep", "1", "--older-than"},
           {"checkpoint", "verify", store, "--key-file"},
           {"runs", store, "--status"},
           {"cancel", "lost", "--store"},
           {"classify", "--model"}}) {
    const std::string option = line.back();
    line.emplace_back();
    const Printed refused = triage_command(line);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring(option + ": it is empty"));
  }
}

TEST_CASE("output that cannot be written ends a command with 9, however long it is", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  for (const char* line : {"completion zsh", "checkpoint export \"$1\"", "runs \"$1\" --json"}) {
    for (const char* where : {">/dev/full", ">&-"}) {
      INFO(line << where);
      const Printed printed =
          run_program({"/bin/sh", "-c", std::string("exec \"$0\" ") + line + " " + where,
                       TRIAGE_COMMAND, folder.file("a.db")});
      CHECK(printed.status == 9);
      CHECK_FALSE(printed.error.empty());
    }
  }
}

TEST_CASE("sqlite://x.db is the file x.db", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  CHECK(triage_command({"checkpoint", "list", "sqlite://" + folder.file("a.db")}).status == 0);
}

TEST_CASE("help and version go to the standard output", "[cli]") {
  const Printed help = triage_command({"--help"});
  CHECK(help.status == 0);
  CHECK_THAT(help.out, ContainsSubstring("Exit status: 0 done"));
  CHECK(triage_command({"--version"}).out == "triage " TRIAGE_VERSION_STRING "\n");
}

TEST_CASE("a refused import does not leave an empty store behind", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const std::string file = folder.file("runs.jsonl");
  REQUIRE(triage_command({"checkpoint", "export", folder.file("a.db"), "--out", file}).status == 0);
  const auto into = [&](const std::string& store) {
    return triage_command({"checkpoint", "import", store, "--in", file}).status;
  };
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 10);
  CHECK(into(folder.file("new.db")) == 3);
  CHECK(into("file:" + folder.file("new")) == 3);
  CHECK_FALSE(std::filesystem::exists(folder.file("new.db")));
  CHECK_FALSE(std::filesystem::exists(folder.file("new")));
  REQUIRE(triage_command({"checkpoint", "export", folder.file("a.db"), "--out", file}).status == 0);
  CHECK(into(folder.file("new.db")) == 0);
}
