// SPDX-License-Identifier: MIT
// Random programs, and random people beside them: what docs/agents.md says of a restoration holds.
#include "supervise/room.hpp"

#include "support/catch.hpp"

#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t largest = 200;

struct Entry {
  char kind = 'f';  // A file, a link, or a folder: 'f', 'l', 'd'.
  std::string text{};
  mode_t mode = 0;

  bool operator==(const Entry&) const = default;
};
using Contents = std::map<std::string, Entry>;

bool is_ignored(const std::string& path) { return path.find("ignored") != std::string::npos; }

bool is_conflict(const std::string& path) {
  return path.find(".triage-conflict") != std::string::npos;
}

bool is_kept(const std::string& path, const Entry& entry) {
  return entry.kind != 'd' && entry.text.size() <= largest && !is_ignored(path) &&
         !is_conflict(path);
}

// A folder in which random things happen. No two files that it writes have the same text.
class Scene {
 public:
  explicit Scene(unsigned seed) : random_(seed) { room_.write(".gitignore", "*ignored*\n"); }

  [[nodiscard]] Workspace open() const {
    WorkspaceOptions options = room_.options();
    options.largest_file = largest;
    return Workspace::open(options).value();
  }

  void change(int times) {
    for (int i = 0; i < times; ++i) change();
  }

  [[nodiscard]] Contents look() const {
    Contents tree;
    for (const auto& entry : fs::recursive_directory_iterator(room_.tree())) {
      const std::string path = entry.path().lexically_relative(room_.tree()).string();
      Entry& found = tree[path];
      if (entry.is_symlink()) {
        found = {'l', fs::read_symlink(entry.path()).string(), 0};
      } else if (entry.is_directory()) {
        found = {'d', "", 0};
      } else {
        found = {'f', read_text(entry.path()), room_.mode(path)};
      }
    }
    return tree;
  }

  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

 private:
  std::string name() {
    static const std::array<std::string, 12> names{"a",
                                                   "-b",
                                                   "c d",
                                                   "e\nf",
                                                   "\xff\xfe",
                                                   "%41",
                                                   "\"q\"",
                                                   "*",
                                                   ":(top)z",
                                                   "A",
                                                   std::string(250, 'n'),
                                                   "ignored"};
    return names[pick(names.size())];
  }
  std::string path() {
    std::string path = name();
    for (std::size_t depth = pick(3); depth > 0; --depth) path += "/" + name();
    return path;
  }
  // Something in the folder, or nothing.
  fs::path some() {
    std::vector<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(room_.tree())) {
      if (entry.path().filename() != ".gitignore") all.push_back(entry.path());
    }
    return all.empty() ? fs::path() : all[pick(all.size())];
  }
  // Makes room for something new.
  fs::path place() {
    fs::path place = room_.at(path());
    std::error_code problem;
    for (fs::path above = place.parent_path(); above != room_.tree(); above = above.parent_path()) {
      if (fs::exists(fs::symlink_status(above)) && !fs::is_directory(fs::symlink_status(above))) {
        fs::remove(above);
      }
    }
    fs::create_directories(place.parent_path());
    fs::remove_all(place, problem);
    return place;
  }
  std::string text() {
    std::string text = "text " + std::to_string(++texts_) + "\n";
    return pick(10) == 0 ? text + std::string(largest, 'x') : text;
  }
  void change() {
    std::error_code problem;
    const std::size_t what = pick(20);
    if (what < 10) {
      std::ofstream(place(), std::ios::binary) << text();
    } else if (what < 12) {
      fs::create_symlink("nowhere " + std::to_string(++texts_), place());
    } else if (what < 13) {
      fs::create_directory(place());
    } else if (const fs::path one = some(); !one.empty()) {
      const auto status = fs::symlink_status(one);
      if (what < 16) {
        fs::remove_all(one);
      } else if (what < 18 && fs::is_regular_file(status)) {
        std::ofstream(one, std::ios::binary) << text();
      } else if (what < 19 && fs::is_regular_file(status)) {
        constexpr std::array<unsigned, 4> modes{0644, 0755, 0600, 0444};
        fs::permissions(one, static_cast<fs::perms>(modes[pick(modes.size())]));
      } else if (!is_conflict(one)) {
        fs::rename(one, room_.at("renamed " + std::to_string(++texts_)), problem);
      }
    }
  }

  Room room_{};
  std::mt19937 random_;
  int texts_ = 0;
};

std::set<std::string> texts_in(const Contents& tree) {
  std::set<std::string> texts;
  for (const auto& [path, entry] : tree) {
    if (entry.kind != 'd') texts.insert(entry.text);
  }
  return texts;
}

// What lies in a folder.
struct Inside {
  bool kept = false;
  bool left_out = false;  // But for conflicts.
};

Inside inside(const Contents& tree, const std::string& folder) {
  Inside found;
  for (const auto& [path, entry] : tree) {
    if (!path.starts_with(folder + "/") || entry.kind == 'd' || is_conflict(path)) continue;
    (is_kept(path, entry) ? found.kept : found.left_out) = true;
  }
  return found;
}

// Whether it is in a folder of which nothing was kept.
bool is_among_left_out(const Contents& then, const std::string& path) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const Inside found = inside(then, path.substr(0, end));
    if (found.left_out && !found.kept) return true;
  }
  return false;
}

// Whether a file or link is where a folder was, or one above it.
bool is_taken(const Contents& contents, const std::string& folder) {
  for (std::size_t end = folder.find('/');; end = folder.find('/', end + 1)) {
    const auto found = contents.find(folder.substr(0, end));
    if (found != contents.end() && found->second.kind != 'd') return true;
    if (end == std::string::npos) return false;
  }
}

// What others have left while no attempt ran: by path, the text.
using Texts = std::map<std::string, std::string>;

// Adds what is different since `from`, but for permissions.
void add_changes(Texts& others, const Contents& from, const Contents& to) {
  for (const auto& [path, entry] : to) {
    const auto found = from.find(path);
    const bool same = found != from.end() && found->second.text == entry.text;
    if (!same && is_kept(path, entry)) others[path] = entry.text;
  }
}

bool has(const Texts& others, const std::string& path, const Entry& entry) {
  const auto found = others.find(path);
  return found != others.end() && found->second == entry.text;
}

// then: when the checkpoint was made; left: by the attempt; others: since then; before, after: the
// restoration.
void check_restored(const Contents& then, const Contents& left, const Texts& others,
                    const Contents& before, const Contents& after) {
  for (const auto& [path, entry] : then) {
    INFO("of the checkpoint: " << path);
    if (is_kept(path, entry)) CHECK((after.contains(path) && after.at(path) == entry));
    if (entry.kind != 'd' || is_conflict(path) || inside(then, path).left_out ||
        is_among_left_out(then, path)) {
      continue;
    }
    if (is_taken(after, path)) continue;  // By what is not kept.
    CHECK(after.contains(path));
  }
  const std::set<std::string> there = texts_in(after);
  for (const auto& [path, entry] : before) {
    if (entry.kind == 'd') continue;
    INFO("before the restoration: " << path);
    const auto own = left.find(path);
    const bool by_attempt = own != left.end() && own->second.kind == entry.kind &&
                            own->second.text == entry.text && is_kept(path, entry) &&
                            !has(others, path, entry);
    if (!by_attempt) {
      CHECK(there.contains(entry.text));
    } else if (!then.contains(path) && !is_among_left_out(then, path)) {
      CHECK_FALSE(after.contains(path));
    }
  }
}

void play(unsigned seed, int checkpoints, int restorations) {
  INFO("seed " << seed);
  Scene scene(seed);
  Workspace files = scene.open();
  struct Kept {
    FilesId id;
    Contents then;
    Texts others;
  };
  std::vector<Kept> kept;
  Texts others;
  for (int i = 0; i < checkpoints; ++i) {
    scene.change(12);
    kept.push_back({files.keep().value(), scene.look(), {}});
  }
  for (int i = 0; i < restorations; ++i) {
    if (scene.pick(3) == 0) files = scene.open();
    if (scene.pick(2) == 0) {  // Between two attempts.
      REQUIRE(files.keep());
      REQUIRE(files.set_at_rest(true));
      const Contents ended = scene.look();
      scene.change(4);
      if (scene.pick(2) == 0) files = scene.open();
      const FilesId id = files.keep().value();
      REQUIRE(files.set_at_rest(false));
      const Contents then = scene.look();
      add_changes(others, ended, then);
      kept.push_back({id, then, others});
    }
    scene.change(6);
    REQUIRE(files.keep());
    const Contents left = scene.look();
    if (scene.pick(2) == 0) scene.change(4);  // By others.
    const Contents before = scene.look();
    const Kept target = kept[scene.pick(kept.size())];
    const auto restored = files.restore(target.id);
    if (!restored) FAIL(restored.error().detail);
    for (const auto& [path, text] : target.others) {
      if (others.contains(path) && others.at(path) == text) others.erase(path);
    }
    check_restored(target.then, left, others, before, scene.look());
    others = target.others;
  }
}

}  // namespace

TEST_CASE("what random programs have left is restored, and nothing of others is lost",
          "[workspace]") {
  for (unsigned seed = 1; seed <= 8; ++seed) play(seed, 3, 4);
}

// Only on request: `FIRST=1 LAST=1000 supervise_tests "[.seeds]"`.
TEST_CASE("many random programs", "[.seeds]") {
  const auto number = [](const char* name, unsigned otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::stoul(text));
  };
  for (unsigned seed = number("FIRST", 1); seed <= number("LAST", 100); ++seed) play(seed, 4, 8);
}
