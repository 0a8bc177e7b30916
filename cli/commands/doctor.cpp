// SPDX-License-Identifier: MIT
// triage doctor: whether the store is sound, what it really guarantees, what this machine lacks.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "arguments/store_place.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "run_status.hpp"
#include "supervise/process/child.hpp"
#include "supervise/process/private_folder.hpp"
#include "triage/version.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

namespace fs = std::filesystem;

struct DoctorArguments {
  StoreArgument where{};
  bool json = false;
};

// The result of one check.
struct Finding {
  enum class Kind { fine, missing, wrong };
  Kind kind = Kind::fine;
  std::string what{};
  std::string text{};
};

const char* mark_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::fine: return "ok";
    case Finding::Kind::missing: return "missing";
    case Finding::Kind::wrong: return "wrong";
  }
  return "";
}

const char* meaning_of(Durability level) {
  switch (level) {
    case Durability::none: return "none: what it holds ends with its process";
    case Durability::process:
      return "process: survives kill -9; a power cut may take the last commits";
    case Durability::power: return "power: survives a power cut, if the disk keeps its word";
  }
  return "";
}

void look_at_runs(CheckpointStore& store, std::vector<Finding>& found) {
  const auto runs = store.runs({.limit = 0});
  if (!runs) {
    found.push_back({Finding::Kind::wrong, "runs", runs.error().detail});
    return;
  }
  const auto with = [&runs](const char* status) {
    return std::to_string(
        std::count_if(runs.value().begin(), runs.value().end(),
                      [status](const RunInfo& run) { return status_text(run) == status; }));
  };
  found.push_back({Finding::Kind::fine, "runs",
                   counted(runs.value().size(), "run") + ": " + with("running") + " running, " +
                       with("died") +
                       " died (`triage resume --all` goes on with those of `triage "
                       "run`), " +
                       with("suspended") + " suspended"});
}

// Of a store that is a file or folder. A SQLite file needs others beside it.
void look_at_rights(const std::string& url, std::vector<Finding>& found) {
  const auto paths = store_paths(url);
  if (paths.empty()) return;
  const fs::path path = paths.back();
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  for (const fs::path& needed : {path, folder ? path : path.parent_path()}) {
    if (::access(needed.c_str(), W_OK) == 0) continue;
    found.push_back({Finding::Kind::missing, "rights",
                     "\"" + needed.string() + "\" cannot be written (" + std::strerror(errno) +
                         "): runs can be looked at, not recorded"});
    return;
  }
}

void look_at_store(const std::string& url, std::vector<Finding>& found) {
  const auto store = open_store_to_read(url);
  if (!store && store.error().code == Errc::not_found) {
    found.push_back(
        {Finding::Kind::missing, "store", without_secrets(url) + " is made by the first run"});
    return;
  }
  if (!store) {
    found.push_back({Finding::Kind::wrong, "store", store.error().detail});
    return;
  }
  found.push_back({Finding::Kind::fine, "store", without_secrets(url)});
  found.push_back(
      {Finding::Kind::fine, "durability", meaning_of(store.value()->capabilities().durability)});
  const auto problems = store.value()->check();
  if (!problems) {
    found.push_back({Finding::Kind::wrong, "health", problems.error().detail});
  } else if (problems.value().empty()) {
    found.push_back({Finding::Kind::fine, "health", "everything that was checked is sound"});
  }
  if (problems) {
    for (const std::string& one : problems.value()) {
      found.push_back({Finding::Kind::wrong, "health", one});
    }
  }
  look_at_rights(url, found);
  look_at_runs(*store.value(), found);
}

bool memory_kills_seen() {
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    std::error_code ignored;
    if (line.starts_with("0::")) {
      return fs::exists("/sys/fs/cgroup" + line.substr(3) + "/memory.events", ignored);
    }
  }
  return false;
}

bool timer_enabled() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  const fs::path folder = config != nullptr && *config == '/'
                              ? fs::path(config)
                              : fs::path(home ? home : "/") / ".config";
  std::error_code ignored;
  return fs::exists(
      fs::symlink_status(folder / "systemd/user/timers.target.wants/triage-resume.timer", ignored));
}

void look_at_machine(std::vector<Finding>& found) {
  const auto note = [&found](bool there, const char* what, const char* good, const char* lack) {
    found.push_back(
        {there ? Finding::Kind::fine : Finding::Kind::missing, what, there ? good : lack});
  };
  const long file = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  if (file >= 0) ::close(static_cast<int>(file));
  note(file >= 0, "pidfd", "processes of a former attempt are ended without mistaking one",
       "the kernel is older than 5.3: `triage resume` cannot end what is left of an attempt");
  note(memory_kills_seen(), "memory.events", "a program that was out of memory is told apart",
       "no control group (version 2) shows memory kills: such a death is a SIGKILL like any other");
  note(supervise::PrivateFolder::make().has_value(), "folder", "sockets can be made",
       "no folder for sockets can be made, neither in TMPDIR nor in /tmp: `triage run` runs "
       "nothing");
  note(supervise::find_program("git", "/").has_value(), "git", "found",
       "not found: `triage run --workspace` needs it");
  note(timer_enabled(), "timer", "triage-resume.timer goes on with runs that are due",
       "`systemctl --user enable --now triage-resume.timer` goes on with runs that are due");
}

ExitStatus examine(const DoctorArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  std::vector<Finding> found{{Finding::Kind::fine, "version", "triage " TRIAGE_VERSION_STRING}};
  look_at_store(meant.value().store, found);
  look_at_machine(found);
  const bool wrong = std::any_of(found.begin(), found.end(), [](const Finding& one) {
    return one.kind == Finding::Kind::wrong;
  });
  if (given.json) {
    Json all = Json::array();
    for (const Finding& one : found) {
      all.push_back({{"what", one.what}, {"is", mark_of(one.kind)}, {"text", one.text}});
    }
    const std::string place = without_secrets(meant.value().store);
    print_json(Json{{"store", place}, {"sound", !wrong}, {"findings", all}});
  } else {
    Table table({{"WHAT", Cut::never}, {"IS", Cut::never}, {"", Cut::wrap}});
    for (const Finding& one : found) table.add({one.what, mark_of(one.kind), one.text});
    print(table.text());
  }
  return wrong ? ExitStatus::corrupt : ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> doctor(CLI::App& arguments) {
  auto given = std::make_shared<DoctorArguments>();
  declare_store(arguments, given->where);
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage doctor\n\nWhat is missing is not an error; what is "
      "wrong in the store is (3).");
  return [given] { return examine(*given); };
}

}  // namespace triage::inline v0_1::cli
