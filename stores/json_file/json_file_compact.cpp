// SPDX-License-Identifier: MIT
// Putting fewer records in the place of many: one new file takes the place of all of the run's.
#include "json_file_store.hpp"
#include "triage/detail/try.hpp"

#include <sys/stat.h>

#include <limits>

namespace triage::inline v0_1::detail {
namespace {

constexpr Sequence behind_all = std::numeric_limits<Sequence>::max();

// Takes the lines of a run in their order and keeps those that stay, byte for byte.
class Rewriting {
 public:
  Rewriting(const RunId& run, std::span<const SequenceRange> ranges,
            std::span<const Record> instead, const RunStand& stand, std::string& out)
      : run_(run), ranges_(ranges), instead_(instead), stand_(stand), out_(out) {}

  // One segment, up to where its last whole batch ends.
  Result<void> take_segment(std::string_view text) {
    for (std::size_t at = text.find('\n') + 1; at != 0 && at < text.size();) {  // Not its head.
      const std::size_t end = text.find('\n', at);
      if (end == text.npos) break;
      TRIAGE_TRYV(take_line(text.substr(at, end - at)));
      at = end + 1;
    }
    return outcome::success();
  }
  // How the run stands is said once more: the line that said it may have gone.
  Result<void> finish() {
    TRIAGE_TRYV(insert_until(behind_all));
    out_ += stand_line(run_, stand_);
    return outcome::success();
  }

 private:
  Result<void> take_line(std::string_view line) {
    const Sequence seq = sequence_of_line(run_, line);
    if (seq != 0) {
      while (range_ < ranges_.size() && ranges_[range_].last < seq) ++range_;
      TRIAGE_TRYV(insert_until(seq));
      if (range_ < ranges_.size() && seq >= ranges_[range_].first) return outcome::success();
    }
    out_ += line;
    out_ += '\n';
    return outcome::success();
  }
  Result<void> insert_until(Sequence seq) {
    for (; next_ < instead_.size() && instead_[next_].seq() <= seq; ++next_) {
      std::string encoded;
      instead_[next_].encode_body(encoded);
      append_record_line(run_, instead_[next_], encoded, 1, stand_, out_);
    }
    return outcome::success();
  }

  const RunId& run_;
  std::span<const SequenceRange> ranges_;
  std::span<const Record> instead_;
  const RunStand& stand_;
  std::string& out_;
  std::size_t range_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

Result<void> JsonFileJournals::replace(const Lease& lease, std::span<const SequenceRange> ranges,
                                       std::span<const Record> instead) {
  TRIAGE_TRYV(writable());
  TRIAGE_TRYV(check_replacement(ranges, instead));
  const std::scoped_lock here(mutex_);
  auto locked = lock(lease.run);
  if (!locked) return locked.error();
  TRIAGE_TRY(held, check_held(lease));
  TRIAGE_TRYV(check_whole(*held));
  RunHead head = held->head;
  head.segment = 1;
  ++head.generation;
  std::string text = head_line(head);
  Rewriting rewriting(lease.run, ranges, instead, held->stand, text);
  for (std::uint64_t segment = 1; segment <= held->head.segment; ++segment) {
    TRIAGE_TRY(before, read_whole(segment_path(runs_folder(), lease.run, segment)));
    if (segment == held->head.segment)
      before.resize(std::min<std::size_t>(before.size(), held->end));
    TRIAGE_TRYV(rewriting.take_segment(before));
  }
  TRIAGE_TRYV(rewriting.finish());
  const std::string path = segment_path(runs_folder(), lease.run, 1);
  TRIAGE_TRYV(replace_whole(folder_ + "/tmp", path, text, synced()));
  // Done from here on, whatever fails: the other files are of an older generation.
  held->head = std::move(head);
  held->end = text.size();
  held->folder_synced = false;
  static_cast<void>(mark(*held));  // Done in any case; the next append looks at the file.
  TRIAGE_TRYV(sync_names(*held));
  // Only now: after a power cut before it, they may have been the run. What is left of them is
  // nobody's.
  static_cast<void>(remove_further_files(lease.run));
  return outcome::success();
}

// The last one first: so one that is cut off leaves no hole, and nothing behind it to be
// overlooked.
Result<void> JsonFileJournals::remove_further_files(const RunId& run) const {
  std::uint64_t last = 1;
  while (exists(segment_path(runs_folder(), run, last + 1))) ++last;
  for (; last > 1; --last) {
    TRIAGE_TRYV(remove_file(segment_path(runs_folder(), run, last)));
  }
  return outcome::success();
}

Result<void> JsonFileJournals::remove_remains(const RunId& run) const {
  TRIAGE_TRY(names, names_in(runs_folder()));
  for (const std::string& name : names) {
    if (!name.starts_with(run + "~")) continue;
    TRIAGE_TRYV(remove_file(runs_folder() + "/" + name));
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
