// SPDX-License-Identifier: MIT
#include "supervise/workspace/forget.hpp"

#include "supervise/workspace/git.hpp"
#include "supervise/workspace/paths.hpp"
#include "supervise/workspace/shadow.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

// Younger objects stay until the next time: the lock holds up whoever keeps files, but supervisors
// of earlier versions take none.
constexpr std::chrono::hours youngest_removed{1};
constexpr std::chrono::hours old_lock{1};
static_assert(old_lock > longest_git);
constexpr const char* prune_before = "--prune=1.hour.ago";
constexpr const char* expire_before = "--expire=1.hour.ago";

// By shadow_name().
using RunsByName = std::map<std::string, std::string>;

// The references of one run.
struct References {
  std::vector<std::string> all{};
  std::string kept{};
  std::string newest{};
  bool any_commit = false;
};

class Repository {
 public:
  Repository(std::string path, const Forgetting& options)
      : path_(std::move(path)), options_(options) {}

  // known: those that may be forgotten.
  Result<void> forget(const RunsByName& known, std::set<std::string>& forgotten) {
    const std::vector<std::string> noted = noted_among(known);
    std::error_code problem;
    if (noted.empty() && !fs::exists(marker(), problem)) return outcome::success();
    TRIAGE_TRY(lock, ShadowLock::remove(path_, options_.patience));
    static_cast<void>(lock);
    remove_shared_locks(path_);
    TRIAGE_TRYV(read_references());
    std::vector<std::string> going;
    for (const std::string& run : noted) {
      TRIAGE_TRY(goes, may_go(run, known.at(run)));
      if (goes) going.push_back(run);
    }
    if (!going.empty()) {
      TRIAGE_TRYV(remove(going));
      for (const std::string& run : going) forgotten.insert(known.at(run));
    }
    return collect(!going.empty());
  }

 private:
  // Exists while there may be objects that nothing needs; as old as the newest removal.
  [[nodiscard]] std::string marker() const { return path_ + "/uncollected"; }

  [[nodiscard]] Result<std::string> git(const std::vector<std::string>& arguments,
                                        const std::string& input = {}) const {
    return run_git({.repository = path_, .index = path_ + "/index"}, arguments, input);
  }

  [[nodiscard]] std::vector<std::string> noted_among(const RunsByName& known) const {
    std::vector<std::string> noted;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(path_, problem)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(stores_prefix)) continue;
      std::string run = name.substr(std::string_view(stores_prefix).size());
      if (known.contains(run)) noted.push_back(std::move(run));
    }
    return noted;
  }

  Result<void> read_references() {
    TRIAGE_TRY(listed, git({"for-each-ref", "--format=%(refname) %(objecttype) %(objectname)"}));
    std::istringstream lines(listed);
    for (std::string name, type, id; lines >> name >> type >> id;) {
      constexpr std::size_t before = std::string_view("refs/").size();
      const std::size_t end = name.find('/', before);
      if (end == std::string::npos) continue;
      References& run = runs_[name.substr(before, end - before)];
      run.all.push_back(name);
      run.any_commit = run.any_commit || type != "tree";
      if (name.substr(end) == "/kept") run.kept = id;
      if (name.substr(end) == "/newest" && type != "tree") run.newest = id;
    }
    return outcome::success();
  }

  // Whether git may be at work for it. No call takes so long that its lock becomes old: an old one
  // was left behind by a git that was killed.
  [[nodiscard]] bool is_locked(const std::string& run) const {
    std::error_code gone;
    const auto made = fs::last_write_time(index_of(path_, run) + ".lock", gone);
    return !gone && fs::file_time_type::clock::now() - made < old_lock;
  }

  // Takes the store off its note if another one may have the run.
  [[nodiscard]] Result<bool> may_go(const std::string& run, const std::string& id) const {
    std::set<std::string> stores = stores_of(path_, run);
    std::error_code problem;
    if (stores.contains(earlier_store) || !stores.contains(shadow_name(options_.store)) ||
        fs::exists(index_of(path_, run) + ".restoring", problem) || is_locked(run) ||
        !options_.is_gone(id)) {
      return outcome::success(false);
    }
    stores.erase(shadow_name(options_.store));
    if (stores.empty()) return outcome::success(true);
    TRIAGE_TRYV(write_stores(path_, run, stores));
    return outcome::success(false);
  }

  Result<void> remove(const std::vector<std::string>& going) {
    TRIAGE_TRYV(write_whole(marker(), ""));
    std::string lines;
    for (const std::string& run : going) {
      remove_locks_of(path_, run);
      for (const std::string& name : runs_[run].all) lines += "delete " + name + "\n";
      runs_.erase(run);
    }
    TRIAGE_TRYV(git({"update-ref", "--stdin"}, lines));
    std::error_code problem;
    for (const std::string& run : going) {
      fs::remove(index_of(path_, run), problem);
      fs::remove(rest_file(path_, run), problem);
      fs::remove(stores_file(path_, run), problem);
    }
    return outcome::success();
  }

  // Whether all that the remaining runs need can be reached from their references.
  [[nodiscard]] bool is_complete() const {
    return std::all_of(runs_.begin(), runs_.end(), [this](const auto& named) {
      const auto& [name, run] = named;
      if (!run.any_commit) return true;
      const auto stores = stores_of(path_, name);
      if (stores.empty() || stores.contains(earlier_store) || run.kept.empty()) return false;
      // Otherwise an earlier version has gone on with it.
      return run.newest.empty() || run.newest == run.kept ||
             git({"merge-base", "--is-ancestor", run.newest, run.kept}).has_value();
    });
  }

  Result<void> collect(bool removed) const {
    std::error_code problem;
    const auto since = fs::file_time_type::clock::now() - fs::last_write_time(marker(), problem);
    const bool all_old = !problem && since > youngest_removed;
    if ((!removed && !all_old) || !is_complete()) return outcome::success();
    // First what takes no space to remove: the disk may be full.
    TRIAGE_TRYV(git({"prune", expire_before}));
    TRIAGE_TRYV(git({"gc", "--quiet", prune_before}));
    if (all_old) fs::remove(marker(), problem);
    return outcome::success();
  }

  std::string path_;
  const Forgetting& options_;
  std::map<std::string, References> runs_{};
};

}  // namespace

Forgotten forget_files(const Forgetting& options) {
  Forgotten forgotten;
  RunsByName known;
  for (const std::string& run : options.runs) known[shadow_name(run)] = run;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(options.shadows, problem)) {
    const auto done = Repository(entry.path().string(), options).forget(known, forgotten.runs);
    if (done) continue;
    forgotten.problems.push_back(
        {done.error().code, printable(entry.path().string()) + ": " + done.error().detail});
  }
  return forgotten;
}

}  // namespace triage::inline v0_1::supervise
