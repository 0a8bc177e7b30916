// SPDX-License-Identifier: MIT
// Reading journals in the Redis store.
#include "redis_numbers.hpp"
#include "redis_store.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t head_of_content = 9;  // Kind and time, before the body.
constexpr std::size_t first_page = 256;     // Entries of a journal per answer.
constexpr int most_readings = 10;           // Of a run that is compacted meanwhile.

std::string_view view_of(const redisReply* reply) {
  if (reply == nullptr || reply->str == nullptr) return {};
  return {reply->str, reply->len};
}

// The value of a field in an answer to HGETALL; null: there is none.
const redisReply* field_of(const redisReply& facts, std::string_view name) {
  for (std::size_t i = 0; i + 1 < facts.elements; i += 2) {
    if (view_of(facts.element[i]) == name) return facts.element[i + 1];
  }
  return nullptr;
}

// One record: what it claims to be, and its content (kind, time and body).
struct StoredRecord {
  Sequence seq = 0;
  std::uint64_t epoch = 0;
  std::optional<std::uint32_t> crc{};
  std::string_view content{};
};

void take_record(const RunId& run, const StoredRecord& stored, JournalReading& out) {
  const auto damaged = [&](std::string_view why) {
    out.damaged.push_back({stored.seq,
                           {Errc::corrupt, "record " + std::to_string(stored.seq) + " of run \"" +
                                               run + "\" " + std::string(why)},
                           {}});
  };
  const std::string_view content = stored.content;
  if (content.size() < head_of_content || !stored.crc) return damaged("is cut off");
  std::uint64_t ms = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    ms |= std::uint64_t{static_cast<unsigned char>(content[1 + i])} << (8 * i);
  }
  const auto kind = static_cast<RecordKind>(static_cast<unsigned char>(content[0]));
  const WallTime time(std::chrono::milliseconds(static_cast<std::int64_t>(ms)));
  const std::string_view body = content.substr(head_of_content);
  if (*stored.crc != record_checksum(run, stored.epoch, stored.seq, kind, time, body) ||
      !is_known(kind)) {
    return damaged("does not match its checksum");
  }
  out.records.emplace_back(stored.seq, kind, time, std::make_shared<const std::string>(body));
}

// "epoch:checksum:" and the content.
StoredRecord record_in(Sequence seq, std::string_view value) {
  StoredRecord stored{.seq = seq};
  const std::size_t colon = value.find(':');
  const std::size_t end = colon == value.npos ? colon : value.find(':', colon + 1);
  if (end == value.npos) return stored;
  std::uint32_t crc = 0;
  const char* const last = value.data() + end;
  const auto parsed = std::from_chars(value.data() + colon + 1, last, crc, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != last) return stored;
  stored.epoch = number<std::uint64_t>(value.substr(0, colon));
  stored.crc = crc;
  stored.content = value.substr(end + 1);
  return stored;
}

// One entry of a stream: [id, [sequence, value, sequence, value …]], or as format 1 had it: [id,
// [b, content, c, "epoch:checksum"]].
void take_entry(const RunId& run, const redisReply& entry, SequenceRange range,
                JournalReading& out) {
  const auto id = number<Sequence>(entry.elements > 0 ? view_of(entry.element[0]) : "");
  const redisReply* const fields = entry.elements == 2 ? entry.element[1] : nullptr;
  const std::size_t count = fields == nullptr ? 0 : fields->elements;
  if (count == 0 || count % 2 != 0) {
    out.damaged.push_back(
        {id,
         {Errc::corrupt, "record " + std::to_string(id) + " of run \"" + run + "\" has no content"},
         {}});
    return;
  }
  if (view_of(fields->element[0]) == "b" && count == 4) {
    const std::string_view check = view_of(fields->element[3]);
    const std::size_t colon = std::min(check.find(':'), check.size());
    StoredRecord stored{.seq = id, .epoch = number<std::uint64_t>(check.substr(0, colon))};
    if (colon < check.size()) stored.crc = number<std::uint32_t>(check.substr(colon + 1));
    stored.content = view_of(fields->element[1]);
    return take_record(run, stored, out);
  }
  for (std::size_t i = 0; i < count; i += 2) {
    const std::string_view name = view_of(fields->element[i]);
    const Sequence seq = is_number<Sequence>(name) ? number<Sequence>(name) : id;
    if (seq < range.first || seq > range.last) continue;
    take_record(run, record_in(seq, view_of(fields->element[i + 1])), out);
  }
}

// Leaves out what was appended since the run's facts were read: a reading is the run as it was
// then.
void leave_out_newer(JournalReading& reading) {
  if (reading.info.damaged) return;  // What its last record is may not be known.
  const Sequence last = reading.info.last;
  std::erase_if(reading.records, [last](const Record& one) { return one.seq() > last; });
  std::erase_if(reading.damaged, [last](const DamagedRecord& one) { return one.seq > last; });
}

}  // namespace

Error odd_redis_answer() { return {Errc::io, "the Redis server gave an answer of another shape"}; }

Result<JournalReading> RedisJournals::read(const RunId& run, SequenceRange range) {
  TRIAGE_TRYV(check_run_id(run));
  // The more often its records were replaced meanwhile, the more are read at once.
  std::size_t page = first_page;
  for (int reading_of = 1;; ++reading_of, page *= 4) {
    JournalReading reading;
    RunFacts facts;
    TRIAGE_TRY(after, read_entries(run, range, page, facts, reading));
    // Whether another run, or another journal of it, took its place meanwhile.
    const std::string birth = text_of(field_of(*after, "birth"));
    const bool same = birth == facts.birth;
    if (same && text_of(field_of(*after, "exchanged")) == facts.exchanged) {
      leave_out_newer(reading);
      return outcome::success(std::move(reading));
    }
    if (birth.empty()) {
      return Error{Errc::not_found, "no run \"" + run + "\" in this Redis store"};
    }
    if (same && reading_of < most_readings) continue;
    return Error{Errc::busy, "run \"" + run + "\" was erased and made anew, or compacted " +
                                 "again and again, while it was read"};
  }
}

// The run's facts as they are afterwards. Those before are asked for together with the first page,
// so that nothing comes between the two, or beside a reading of one page.
Result<RedisReply> RedisJournals::read_entries(const RunId& run, SequenceRange range,
                                               std::size_t page, RunFacts& before,
                                               JournalReading& out) {
  const std::string till = std::to_string(range.last) + "-0";
  std::string from = std::to_string(range.first) + "-0";
  for (bool first = true;; first = false) {
    std::vector<RedisWords> questions;
    if (first) questions.push_back({"HGETALL", facts_key(run)});
    // The id of the entry behind the range is greater, but its first records may be in the range.
    // It is asked for first, so that what is appended meanwhile can only be missing at the end.
    const bool ends = range.last < largest_sequence;
    if (ends) {
      questions.push_back(
          {"XRANGE", log_key(run), std::to_string(range.last + 1) + "-0", "+", "COUNT", "1"});
    }
    questions.push_back({"XRANGE", log_key(run), from, till, "COUNT", std::to_string(page)});
    questions.push_back({"HGETALL", facts_key(run)});
    TRIAGE_TRY(answers, ask_all(questions));
    auto answer = answers.begin();
    if (first) {
      TRIAGE_TRY(stored, std::move(*answer++));
      TRIAGE_TRY(facts, facts_in(run, *stored));
      before = std::move(facts);
      out.info = before.info;
    }
    const auto behind = answer;
    if (ends) ++answer;
    TRIAGE_TRY(entries, std::move(*answer));
    for (std::size_t i = 0; i < entries->elements; ++i) {
      take_entry(run, *entries->element[i], range, out);
    }
    if (entries->elements < page) {
      if (ends) {
        TRIAGE_TRY(next, std::move(*behind));
        // An entry that cannot be read has no records in the range.
        const redisReply* const entry = next->elements > 0 ? next->element[0] : nullptr;
        const bool whole = entry != nullptr && entry->elements == 2 &&
                           entry->element[1]->elements > 0 &&
                           is_number<Sequence>(view_of(entry->element[1]->element[0]));
        if (whole) take_entry(run, *entry, range, out);
      }
      return std::move(answers.back());
    }
    const redisReply& last = *entries->element[page - 1];
    const auto seq = last.elements > 0 ? number<Sequence>(view_of(last.element[0])) : 0;
    if (seq == 0 || seq < range.first) return odd_redis_answer();
    from = std::to_string(seq + 1) + "-0";
  }
}

}  // namespace triage::inline v0_1::detail
