// SPDX-License-Identifier: MIT
// Putting fewer records in the place of many: a stream takes no entry between two others, so a new
// one is filled beside it, and then takes its place in one step.
#include "redis_scripts.hpp"
#include "redis_store.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

constexpr Sequence most_copied = 2'000;    // Records that one script copies: nobody else is served.
constexpr std::size_t most_words = 3'000;  // Arguments of one script …
constexpr std::size_t most_bytes = std::size_t{4} << 20U;  // … and how long they are.
constexpr const char* forgotten_after_ms = "3600000";      // What a crash leaves of a new stream.

// The arguments of the scripts that fill the new stream, in the order of sequences.
class Filling {
 public:
  Filling() { begin(); }

  void keep(Sequence first, Sequence last) {
    while (first <= last) {
      if (room_ == 0) begin();
      const Sequence end = std::min(last, first + room_ - 1);
      add({"keep", std::to_string(first), std::to_string(end)});
      room_ -= end - first + 1;
      first = end + 1;
    }
  }
  // "put", and one record: sequence, value.
  void put(RedisWords words) { add(std::move(words)); }
  // Each begins with the time to live.
  [[nodiscard]] std::vector<RedisWords>& scripts() noexcept { return scripts_; }

 private:
  void begin() {
    scripts_.push_back({forgotten_after_ms});
    room_ = most_copied;
    bytes_ = 0;
  }
  void add(RedisWords words) {
    if (scripts_.back().size() > most_words || bytes_ > most_bytes) begin();
    for (const std::string& word : words) bytes_ += word.size();
    RedisWords& to = scripts_.back();
    to.insert(to.end(), std::make_move_iterator(words.begin()),
              std::make_move_iterator(words.end()));
  }

  std::vector<RedisWords> scripts_{};
  Sequence room_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::string RedisJournals::aside_key(const RunId& run) const { return log_key(run) + ":new"; }

Result<void> RedisJournals::replace(const Lease& lease, std::span<const SequenceRange> ranges,
                                    std::span<const Record> instead) {
  TRIAGE_TRYV(writable());
  TRIAGE_TRYV(check_replacement(ranges, instead));
  const RedisWords lease_words{std::to_string(options_.lease_timeout.count()),
                               std::to_string(options_.ttl.count())};
  // Whoever has lost the run must not touch what its new owner fills.
  TRIAGE_TRYV(owner_script(redis_scripts::renew, lease, lease_words));
  TRIAGE_TRY(facts, facts_of(lease.run));
  Filling filling;
  Sequence next = 1;
  std::size_t at = 0;
  for (const SequenceRange& range : ranges) {
    if (range.first > next) filling.keep(next, range.first - 1);
    for (; at < instead.size() && instead[at].seq() <= range.last; ++at) {
      RedisWords words;
      TRIAGE_TRYV(add_records(lease, instead.subspan(at, 1), words));
      words.front() = "put";
      filling.put(std::move(words));
    }
    next = range.last + 1;
  }
  if (next <= facts.info.last) filling.keep(next, facts.info.last);
  const std::string aside = aside_key(lease.run) + ":" + std::to_string(lease.epoch);
  TRIAGE_TRYV(ask({"DEL", aside}));
  const Error gone{Errc::io,
                   "the Redis server has dropped the records that were to take the place "
                   "of others of run \"" +
                       lease.run + "\"; nothing was changed"};
  std::string newest = "0";
  for (RedisWords& words : filling.scripts()) {
    words.insert(words.begin() + 1, newest);
    TRIAGE_TRY(filled,
               run_script(redis_scripts::fill, {aside, log_key(lease.run)}, std::move(words)));
    if (filled.word != "ok") return gone;
    newest = std::move(filled.more);
  }
  RedisWords words = lease_words;
  words.push_back(std::to_string(real_random()->next()));
  words.push_back(std::to_string(facts.info.last));
  words.push_back(std::move(newest));
  TRIAGE_TRY(answer, owner_script(redis_scripts::exchange, lease, std::move(words), {aside}));
  if (answer.word == "ok") return outcome::success();
  if (answer.word == "gone") return gone;
  return Error{Errc::conflict, "run \"" + lease.run +
                                   "\" was written to while its records were replaced; nothing "
                                   "was changed"};
}

}  // namespace triage::inline v0_1::detail
