// SPDX-License-Identifier: MIT
#include "run_file.hpp"

#include "files.hpp"
#include "triage/detail/try.hpp"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::uint64_t glance_bytes = 16U << 10U;
constexpr int most_tries = 10;  // Of a reader whom a compaction comes in the way of.
constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

// Reads the lines of a run in order.
class Scanner {
 public:
  Scanner(const RunId& run, RunScan& out) : run_(run), out_(out) {}

  // `text`: a whole segment. Errors: Errc::unsupported.
  Result<void> take_segment(std::string_view text) {
    std::size_t whole = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == text.npos) break;
      TRIAGE_TRY(ends_batch, take_line(text.substr(at, end - at)));
      at = end + 1;
      if (ends_batch) whole = at;
    }
    // Lines of a batch cut off by a crash were never acknowledged; damaged ones may have been.
    if (!pending_.empty() && !damage_.empty()) {
      settle();
      whole = text.rfind('\n') + 1;
    }
    pending_.clear();
    out_.end = whole;
    out_.torn = text.size() - whole;
    return outcome::success();
  }

  void finish() {
    place_damage(everything, everything);
    std::sort(out_.damaged.begin(), out_.damaged.end(),
              [](const auto& a, const auto& b) { return a.seq < b.seq; });
    out_.stand.last = std::max(out_.stand.last, previous_);
    if (!out_.damaged.empty()) out_.stand.last = std::max(out_.stand.last, out_.damaged.back().seq);
  }

 private:
  // True if a batch is complete here.
  Result<bool> take_line(std::string_view line) {
    auto parsed = parse_line(run_, line);
    if (!parsed) {
      if (parsed.error().code == Errc::unsupported) return parsed.error();
      damage_.push_back({{0, parsed.error(), {}}, guess_line(line), pending_.size()});
      out_.stand_lost = true;
      return outcome::success(pending_.empty());
    }
    ParsedLine& said = parsed.value();
    if (said.head) {
      out_.head = *std::move(said.head);
      out_.head_intact = true;
      return outcome::success(false);
    }
    if (said.record) pending_.push_back(*std::move(said.record));
    if (!said.stand) return outcome::success(false);
    settle();
    out_.stand = *std::move(said.stand);
    out_.stand_lost = false;
    return outcome::success(true);
  }

  // The pending records are a complete batch.
  void settle() {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      place_damage(i, pending_[i].seq());
      previous_ = std::max(previous_, pending_[i].seq());
      out_.records.push_back(std::move(pending_[i]));
    }
    for (DamagedLine& line : damage_) line.behind = 0;
    pending_.clear();
  }

  // Assigns missing sequences between previous_ and `next` to the first damaged lines, up to those
  // after `behind` pending records.
  void place_damage(std::size_t behind, Sequence next) {
    Sequence free = previous_ + 1;
    std::size_t taken = 0;
    for (; taken < damage_.size() && damage_[taken].behind <= behind; ++taken) {
      DamagedRecord& damage = damage_[taken].record;
      if (!damage_[taken].guess.record) continue;
      damage.seq = damage_[taken].guess.seq;
      if (damage.seq < free || damage.seq >= next) damage.seq = free;
      if (damage.seq >= next) continue;
      free = damage.seq + 1;
      damage.error.detail = "record " + std::to_string(damage.seq) + " of run \"" + run_ +
                            "\" does not match its checksum";
      out_.damaged.push_back(std::move(damage));
    }
    damage_.erase(damage_.begin(), damage_.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  struct DamagedLine {
    DamagedRecord record{};
    LineGuess guess{};
    std::size_t behind = 0;  // The number of pending records before it.
  };

  const RunId& run_;
  RunScan& out_;
  std::vector<Record> pending_{};  // Of a batch whose end has not been read.
  std::vector<DamagedLine> damage_{};
  Sequence previous_ = 0;
};

Error no_such_run(const RunId& run) {
  return {Errc::not_found, "no run \"" + printable(run) + "\" in this JSON-file store"};
}

// A run's birth, and the generation of its files.
using Origin = std::pair<std::uint64_t, std::uint64_t>;

// Empty: it is damaged, or not there.
std::optional<Origin> origin_in(const RunId& run, std::string_view beginning) {
  const auto head = parse_line(run, beginning.substr(0, beginning.find('\n')));
  if (!head || !head.value().head) return std::nullopt;
  return Origin(head.value().head->birth, head.value().head->generation);
}
std::optional<Origin> origin_of(const std::string& folder, const RunId& run,
                                std::uint64_t segment) {
  const std::string path = segment_path(folder, run, segment);
  const auto file = open_file(path, O_RDONLY);
  if (!file) return std::nullopt;
  const auto beginning = read_at(file.value(), path, 0, glance_bytes);
  if (!beginning) return std::nullopt;
  return origin_in(run, beginning.value());
}
bool belong_together(const std::optional<Origin>& one, const std::optional<Origin>& other) {
  return !one || !other || *one == *other;
}

struct Opened {
  File file{};
  std::string path{};
  std::uint64_t segment = 0;
  struct stat status {};
};

Result<Opened> open_newest(const std::string& folder, const RunId& run) {
  for (int tries = 1;; ++tries) {
    const std::uint64_t segment = newest_segment(folder, run);
    if (segment == 0) return no_such_run(run);
    Opened opened{.path = segment_path(folder, run, segment), .segment = segment};
    auto file = open_file(opened.path, O_RDONLY);
    if (!file && file.error().code != Errc::not_found) return file.error();
    if (!file && tries < most_tries) continue;  // One file took the place of all, or it is erased.
    if (!file) return no_such_run(run);
    opened.file = std::move(file).value();
    TRIAGE_TRY(status, status_of(opened.file, opened.path));
    opened.status = status;
    return outcome::success(std::move(opened));
  }
}

std::int64_t unseen_ms(const struct stat& status) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seen = std::chrono::seconds(status.st_mtim.tv_sec) +
                    std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - seen).count();
}

// Reads the first and last line of a segment; false if they are not sufficient.
bool glance(const RunId& run, const Opened& opened, RunGlance& out) {
  const auto size = static_cast<std::uint64_t>(opened.status.st_size);
  const auto first = read_at(opened.file, opened.path, 0, std::min(size, glance_bytes));
  if (!first) return false;
  const std::size_t head_end = first.value().find('\n');
  if (head_end == std::string::npos) return false;
  auto head = parse_line(run, std::string_view(first.value()).substr(0, head_end));
  if (!head || !head.value().head) return false;
  const std::uint64_t from = size > glance_bytes ? size - glance_bytes : 0;
  const auto last = read_at(opened.file, opened.path, from, size - from);
  if (!last || last.value().empty() || last.value().back() != '\n') return false;
  const std::string_view tail = std::string_view(last.value()).substr(0, last.value().size() - 1);
  const std::size_t begin = tail.rfind('\n');
  if (begin == tail.npos) return false;
  auto stand = parse_line(run, tail.substr(begin + 1));
  if (!stand || !stand.value().stand) return false;
  out.head = *std::move(head.value().head);
  out.stand = *std::move(stand.value().stand);
  out.end = from + last.value().size();
  return true;
}

}  // namespace

std::string segment_path(const std::string& folder, const RunId& run, std::uint64_t segment) {
  return folder + "/" + run + (segment > 1 ? "~" + std::to_string(segment) : "") + ".jsonl";
}

std::uint64_t newest_segment(const std::string& folder, const RunId& run) {
  if (!exists(segment_path(folder, run, 1))) return 0;
  std::uint64_t segment = 1;
  if (!exists(segment_path(folder, run, 2))) return segment;
  const auto origin = origin_of(folder, run, 1);
  while (exists(segment_path(folder, run, segment + 1)) &&
         belong_together(origin, origin_of(folder, run, segment + 1))) {
    ++segment;
  }
  return segment;
}

namespace {

bool is_still(const FileMark& known, const std::string& path) {
  struct stat now {};
  return ::stat(path.c_str(), &now) == 0 && now.st_ino == known.number;
}

// False: a compaction came in the way, so that what was read may be part of both.
Result<bool> scan_once(const std::string& folder, const RunId& run, RunScan& scan) {
  const std::string first_path = segment_path(folder, run, 1);
  auto file = open_file(first_path, O_RDONLY);
  if (!file && file.error().code == Errc::not_found) return no_such_run(run);
  if (!file) return file.error();
  const File first = std::move(file).value();  // Open, so that no other file gets its number.
  TRIAGE_TRY(status, status_of(first, first_path));
  const FileMark mark = mark_of(status);
  // What a compaction puts in the place of the first file no longer changes this reading.
  const std::uint64_t newest = newest_segment(folder, run);
  if (newest == 0 || !is_still(mark, first_path)) return false;
  TRIAGE_TRY(beginning, read_at(first, first_path, 0, everything));
  const auto origin = origin_in(run, beginning);
  Scanner scanner(run, scan);
  TRIAGE_TRYV(scanner.take_segment(beginning));
  scan.segment = 1;
  scan.file = mark;
  while (scan.segment < newest) {
    const std::string path = segment_path(folder, run, scan.segment + 1);
    auto next = open_file(path, O_RDONLY);
    if (!next && next.error().code == Errc::not_found) return false;
    if (!next) return next.error();
    TRIAGE_TRY(seen, status_of(next.value(), path));
    TRIAGE_TRY(text, read_at(next.value(), path, 0, everything));
    if (!belong_together(origin, origin_in(run, text))) return false;
    TRIAGE_TRYV(scanner.take_segment(text));
    ++scan.segment;
    scan.file = mark_of(seen);
  }
  scanner.finish();
  return true;
}

}  // namespace

Result<RunScan> scan_run(const std::string& folder, const RunId& run) {
  for (int tries = 1; tries <= most_tries; ++tries) {
    RunScan scan;
    TRIAGE_TRY(whole, scan_once(folder, run, scan));
    if (whole) return outcome::success(std::move(scan));
  }
  return Error{Errc::busy, "run \"" + run + "\" is compacted again and again while it is read"};
}

Result<RunGlance> glance_at_run(const std::string& folder, const RunId& run) {
  TRIAGE_TRY(opened, open_newest(folder, run));
  RunGlance seen{.segment = opened.segment,
                 .file = mark_of(opened.status),
                 .unseen_ms = unseen_ms(opened.status)};
  if (glance(run, opened, seen)) return outcome::success(std::move(seen));
  TRIAGE_TRY(scan, scan_run(folder, run));
  seen.head = std::move(scan.head);
  seen.head.info.id = run;
  seen.damaged = !scan.head_intact;
  seen.stand = std::move(scan.stand);
  if (scan.stand_lost) ++seen.stand.epoch;  // The lost line may have increased it by one.
  seen.segment = scan.segment;
  seen.file = scan.file;
  seen.end = scan.end;
  seen.torn = scan.torn;
  return outcome::success(std::move(seen));
}

}  // namespace triage::inline v0_1::detail
