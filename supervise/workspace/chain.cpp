// SPDX-License-Identifier: MIT
// How all that a run has kept stays within reach of its references: each commit has the one before
// as its parent, and the one that says what was not kept. So nothing else needs to be asked whether
// an object may be removed: see forget_files().
#include "supervise/workspace/workspace.hpp"
#include "triage/detail/try.hpp"

#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

// Git knows it without storing it.
std::string empty_tree_beside(const std::string& tree) {
  return tree.size() == 40 ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
                           : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
}

}  // namespace

Result<Workspace::Known> Workspace::known_of(const std::string& run) const {
  TRIAGE_TRY(listed,
             repository("for-each-ref", "--format=%(refname) %(objecttype) %(objectname)",
                        reference("newest", run), reference("kept", run), reference("left", run)));
  std::istringstream lines(listed);
  Known known;
  for (std::string name, type, id; lines >> name >> type >> id;) {
    if (name == reference("kept", run)) {
      known.kept = id;
    } else if (name == reference("left", run)) {
      known.left = id;
    } else {
      known.newest = id;
      known.newest_is_tree = type == "tree";
    }
  }
  return outcome::success(std::move(known));
}

// As of the newest state.
Result<std::map<std::string, std::string>> Workspace::others_of(const Known& known) const {
  std::string noted = known.newest_is_tree ? known.left : std::string();
  if (!known.newest_is_tree && !known.newest.empty()) {
    TRIAGE_TRY(content, content_of(known.newest));
    noted = notes_from(content.message).not_kept.value_or("");
  }
  if (noted.empty()) return outcome::success(std::map<std::string, std::string>());
  TRIAGE_TRY(content, content_of(noted));
  return outcome::success(not_kept_in(content.message).others);
}

// What this run has kept before.
Result<void> Workspace::find_kept() {
  TRIAGE_TRY(in_use, ShadowLock::use(git_.repository, git_.watch));
  static_cast<void>(in_use);
  TRIAGE_TRY(known, known_of(""));
  newest_ = known.newest;
  kept_ = known.kept;
  // An earlier version may have gone on with the run.
  const bool within_reach = !known.newest_is_tree && is_kept(newest_);
  if (within_reach) {
    TRIAGE_TRY(content, content_of(newest_));
    not_kept_within_ = notes_from(content.message).not_kept.value_or("");
    if (!not_kept_within_.empty()) {
      TRIAGE_TRY(noted, content_of(not_kept_within_));
      NotKept not_kept = not_kept_in(noted.message);
      noted_ = to_bytes(not_kept);
      noted_in_ = not_kept_within_;
      others_ = std::move(not_kept.others);
    }
    newest_content_ = std::move(content);
  } else {
    TRIAGE_TRY(others, others_of(known));
    others_ = std::move(others);
  }
  TRIAGE_TRYV(
      note_store(newest_.empty() || within_reach || (known.newest_is_tree && !kept_.empty())));
  return options_.begins ? leave_others() : outcome::success();
}

// What another run of this name has kept stays within reach, but nothing else of it counts.
Result<void> Workspace::leave_others() {
  newest_.clear();
  newest_content_.reset();
  others_.clear();
  TRIAGE_TRYV(set_at_rest(false));
  std::error_code problem;
  std::filesystem::remove(git_.index, problem);
  std::filesystem::remove(journal(), problem);
  TRIAGE_TRY(before, named("before"));
  if (!before) return outcome::success();
  TRIAGE_TRYV(repository("update-ref", "-d", reference("before", "")));
  return outcome::success();
}

// known: that all the run has kept can be reached.
Result<void> Workspace::note_store(bool known) const {
  const std::string run = shadow_name(options_.run);
  const auto noted = stores_of(git_.repository, run);
  auto stores = noted;
  if (!options_.store.empty()) stores.insert(shadow_name(options_.store));
  // Then others may have begun it in another store.
  const bool kept_unnoted = noted.empty() && !kept_.empty() && !options_.store.empty();
  if (!known || kept_unnoted || (options_.store.empty() && !noted.empty())) {
    stores.insert(earlier_store);
  }
  if (stores == noted) return outcome::success();
  return write_stores(git_.repository, run, stores);
}

Result<Workspace::Content> Workspace::content_of(const FilesId& files) const {
  TRIAGE_TRY(commit, repository("cat-file", "commit", files));
  Content content;
  std::istringstream first_line(commit);
  std::string tag;
  first_line >> tag >> content.tree;
  const std::size_t body = commit.find("\n\n");
  if (body != std::string::npos) content.message = commit.substr(body + 2);
  return outcome::success(std::move(content));
}

// Empty if an earlier version did not note it.
Result<std::optional<NotKept>> Workspace::not_kept_of(const Notes& notes) const {
  std::optional<NotKept> not_kept;
  if (!notes.earlier_not_kept.empty()) {
    TRIAGE_TRY(bytes, repository("cat-file", "blob", notes.earlier_not_kept));
    not_kept = not_kept_from(bytes);
  } else if (notes.not_kept) {
    not_kept.emplace();
    if (!notes.not_kept->empty()) {
      TRIAGE_TRY(content, content_of(*notes.not_kept));
      not_kept = not_kept_in(content.message);
    }
  }
  return outcome::success(std::move(not_kept));
}

// A NotKept as a commit, so that others can have it as a parent; it is the same one for the same
// bytes. tree: any; tells how long names are here.
Result<std::string> Workspace::commit_not_kept(const std::string& bytes,
                                               const std::string& tree) const {
  if (bytes.empty()) return outcome::success(std::string());
  TRIAGE_TRY(printed, run_git(without_tree(), {"commit-tree", empty_tree_beside(tree)},
                              message_of(not_kept_from(bytes))));
  return outcome::success(name_printed(std::move(printed)));
}

// Whether it can be reached from this run's commits.
bool Workspace::is_kept(const FilesId& files) const {
  if (kept_.empty() || files.empty()) return false;
  return files == kept_ || repository("merge-base", "--is-ancestor", files, kept_).has_value();
}

// A new commit of this run. not_kept: as in its message.
Result<FilesId> Workspace::add(const Content& content, const std::string& not_kept,
                               bool as_newest) {
  auto made = add_behind_kept(content, not_kept, as_newest);
  if (made) return made;
  // Another supervisor of the run may have kept something since: then behind that.
  TRIAGE_TRY(kept, named("kept"));
  if (!kept || kept == kept_) return made;
  kept_ = *kept;
  not_kept_within_.clear();
  return add_behind_kept(content, not_kept, as_newest);
}

Result<FilesId> Workspace::add_behind_kept(const Content& content, const std::string& not_kept,
                                           bool as_newest) {
  const GitPlace place = without_tree();
  std::vector<std::string> words{"commit-tree", content.tree};
  if (!kept_.empty()) words.insert(words.end(), {"-p", kept_});
  const bool is_new = !not_kept.empty() && not_kept != not_kept_within_;
  if (is_new) words.insert(words.end(), {"-p", not_kept});
  TRIAGE_TRY(printed, run_git(place, words, content.message));
  FilesId made = name_printed(std::move(printed));
  // Only if it is still the one that this object knows: files that were forgotten meanwhile, since
  // somebody has removed the run, are not referred to again. Git writes them in this order.
  std::string lines = (kept_.empty() ? "create " : "update ") + reference("kept", "") + " " + made +
                      (kept_.empty() ? "" : " " + kept_) + "\n";
  if (as_newest) lines += "update " + reference("newest", "") + " " + made + "\n";
  TRIAGE_TRYV(run_git(place, {"update-ref", "--stdin"}, lines));
  kept_ = made;
  if (is_new) not_kept_within_ = not_kept;
  if (as_newest) {
    newest_ = made;
    newest_content_ = content;
  }
  return outcome::success(std::move(made));
}

// The same files within reach of this run, even if another run has kept them, whose files may be
// forgotten, or an earlier version.
Result<FilesId> Workspace::hold(const FilesId& files) {
  if (is_kept(files)) return outcome::success(files);
  TRIAGE_TRY(content, content_of(files));
  Notes notes = notes_from(content.message);
  TRIAGE_TRY(not_kept, not_kept_of(notes));
  if (not_kept) {
    TRIAGE_TRY(named, commit_not_kept(to_bytes(*not_kept), content.tree));
    notes.not_kept = std::move(named);
  }
  content.message = to_message(notes);
  return add(content, notes.not_kept.value_or(""), false);
}

Result<void> Workspace::leave_to(const std::string& origin, const FilesId& files) const {
  const GitPlace place = without_tree();
  const std::string newest = reference("newest", origin);
  TRIAGE_TRY(kept, named("kept", origin));
  if (!kept) {
    TRIAGE_TRY(known, named("newest", origin));
    if (!known) return outcome::success();  // Forgotten.
    TRIAGE_TRYV(repository("update-ref", newest, files));
    return outcome::success();
  }
  const std::string noted = reference("left", origin);
  const std::string others =
      others_.empty() ? "delete " + noted + "\n" : "update " + noted + " " + noted_in_ + "\n";
  // Not the commit: what this run has kept would stay as long as its origin. The origin may be
  // forgotten at this moment.
  const auto left = run_git(place, {"update-ref", "--stdin"},
                            "verify " + reference("kept", origin) + " " + *kept + "\nupdate " +
                                newest + " " + files + "^{tree}\n" + others);
  if (left) return outcome::success();
  TRIAGE_TRY(still, named("kept", origin));
  if (still == kept) return left.error();
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
