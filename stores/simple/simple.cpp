// SPDX-License-Identifier: MIT
// Makes a full store from save, load and latest: the journal is kept in memory, and each drain
// saves what is needed to continue.
#include "triage/stores/simple.hpp"

#include "triage/detail/own_label.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

constexpr int data_format = 1;

bool is_content(RecordKind kind) {  // Kept in the checkpoint's state, trajectory and label.
  return kind == RecordKind::step || kind == RecordKind::state_changed ||
         kind == RecordKind::state_removed || kind == RecordKind::state_snapshot ||
         kind == RecordKind::checkpoint_labelled || kind == RecordKind::gap;
}

std::int64_t milliseconds(WallTime time) { return time.time_since_epoch().count(); }
WallTime to_time(std::int64_t milliseconds) {
  return WallTime(std::chrono::milliseconds(milliseconds));
}

// A run of this process: its journal and what was saved of it.
struct OpenRun {
  std::mutex mutex;
  Journal journal;
  Json facts = Json::array();  // Records other than content, as {seq, kind, time, body}, and the
                               // snapshot that a branch begins with.
  RunInfo info{};
  std::set<Sequence> saved_labels{};
  std::pair<Sequence, std::size_t> saved{0, 0};  // Position and number of facts last saved.
};

Result<Json> steps_as_json(const Trajectory& trajectory) {
  Json steps = Json::array();
  std::string encoded;
  for (const Step& step : trajectory) {
    encoded.clear();
    detail::encode_step(step, encoded);
    TRIAGE_TRY(json, detail::decode_cbor(encoded));
    steps.push_back(std::move(json));
  }
  return outcome::success(std::move(steps));
}

Json describe(const RunInfo& info) {
  return {{"agent", info.agent},
          {"label", info.label},
          {"parent", info.parent},
          {"status", static_cast<int>(info.status)},
          {"started", milliseconds(info.started)},
          {"updated", milliseconds(info.updated)}};
}

// --- From a saved checkpoint back to records.

Error unusable(const RunId& run, std::string_view why) {
  return {Errc::corrupt,
          "what the simple store gave for run \"" + run + "\" cannot be used: " + std::string(why)};
}

class Rebuilder {
 public:
  explicit Rebuilder(const SavedCheckpoint& saved) : saved_(saved) {}

  Result<std::vector<Record>> records() {
    TRIAGE_TRY(id, parse_checkpoint_id(saved_.id));
    const Json& data = saved_.run_data;
    const auto last = data.at("last").get<Sequence>();
    const bool at_start = data.at("at_start").get<bool>();
    add_facts(0, id.sequence);
    // The beginning of a branch is a fact and was already added.
    const bool begins = next_ == id.sequence + 1 && !out_.empty() &&
                        out_.back().kind() == RecordKind::state_snapshot;
    if (!at_start && !begins) {
      // A single record for all of state and trajectory, so that no intermediate checkpoint with an
      // unknown state arises.
      const bool has_content =
          !saved_.state.empty() || !saved_.trajectory.empty() || saved_.label.empty();
      const Sequence needed = (has_content ? 1U : 0U) + (saved_.label.empty() ? 0U : 1U);
      if (next_ + needed > id.sequence + 1) return unusable(saved_.run, "its id is too small");
      skip_to(id.sequence + 1 - needed);
      if (has_content) {
        TRIAGE_TRYV(check_steps());
        add(RecordKind::state_snapshot, time_,
            Json{{"state", saved_.state}, {"replaced", true}, {"steps", saved_.trajectory}});
      }
      if (!saved_.label.empty()) {
        add(RecordKind::checkpoint_labelled, time_, Json{{"label", saved_.label}});
      }
    }
    add_facts(id.sequence, last);
    skip_to(last + 1);
    return outcome::success(std::move(out_));
  }

 private:
  Result<void> check_steps() const {
    if (!saved_.state.is_object() || !saved_.trajectory.is_array()) {
      return unusable(saved_.run, "its state is not an object, or its trajectory is not an array");
    }
    std::string encoded;
    for (const Json& step : saved_.trajectory) {
      encoded.clear();
      detail::encode_cbor(step, encoded);
      TRIAGE_TRYV(detail::decode_step(encoded));
    }
    return outcome::success();
  }
  void add(RecordKind kind, WallTime time, Json body) {
    out_.emplace_back(next_++, kind, time, std::make_shared<const Json>(std::move(body)));
  }
  // Facts after `after`, up to and including `until`.
  void add_facts(Sequence after, Sequence until) {
    for (const Json& fact : saved_.run_data.at("facts")) {
      const auto seq = fact.at("seq").get<Sequence>();
      if (seq <= after || seq > until) continue;
      time_ = to_time(fact.at("time").get<std::int64_t>());
      add(static_cast<RecordKind>(fact.at("kind").get<int>()), time_, fact.at("body"));
    }
  }
  // Sequences are never reused, so those of dropped records stay unused.
  void skip_to(Sequence seq) {
    if (next_ >= seq) return;
    if (next_ + 1 == seq) {
      add(RecordKind::usage, time_, Json{{"calls", 0}});
      return;
    }
    const Sequence first = next_;
    next_ = seq - 1;
    add(RecordKind::gap, time_, Json{{"first", first}, {"last", seq - 2}});
  }

  const SavedCheckpoint& saved_;
  std::vector<Record> out_{};
  Sequence next_ = 1;
  WallTime time_{};
};

// Contains exceptions of user code (the simple store) and of malformed saved data.
template <class F>
auto contained(const RunId& run, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const Json::exception& e) {
    return unusable(run, e.what());
  } catch (const std::exception& e) {
    return Error{Errc::io, "the simple store threw for run \"" + run + "\": " + e.what()};
  } catch (...) {
    return Error{Errc::io, "the simple store threw for run \"" + run + "\", and no std::exception"};
  }
}

class SimpleAdapter final : public CheckpointStore {
 public:
  SimpleAdapter(std::shared_ptr<SimpleStore> simple, Durability durability)
      : simple_(std::move(simple)), durability_(durability) {}
  ~SimpleAdapter() override { stop_queue(); }

  StoreCapabilities capabilities() const noexcept override {
    return {.durability = durability_,
            .shared_by_processes = false,
            .background_appends = false,
            .renew_every = std::chrono::milliseconds::zero()};
  }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    TRIAGE_TRYV(check_run_id(run.id));
    TRIAGE_TRYV(check_simple());
    const auto known = find(run.id);
    if (known) return memory_.start(run, records);  // The same run again, or a conflict.
    if (known.error().code != Errc::not_found) return known.error();
    TRIAGE_TRY(lease, memory_.start(run, records));
    auto open = std::make_shared<OpenRun>();
    open->journal.set_run(run.id);
    open->info = run;
    {
      const std::scoped_lock lock(mutex_);
      open_[run.id] = open;
    }
    const Result<void> saved = note(*open, records, run.status);
    if (!saved) {  // A run that is not saved has not started.
      static_cast<void>(memory_.release(lease));
      static_cast<void>(memory_.erase(run.id));
      const std::scoped_lock lock(mutex_);
      open_.erase(run.id);
      return saved.error();
    }
    return outcome::success(std::move(lease));
  }
  Result<Lease> acquire(const RunId& run) override {
    TRIAGE_TRYV(find(run));
    return memory_.acquire(run);
  }
  Result<void> renew(const Lease& lease) override { return memory_.renew(lease); }
  Result<void> release(const Lease& lease) override { return memory_.release(lease); }

  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    TRIAGE_TRY(open, find(lease.run));
    TRIAGE_TRYV(memory_.append(lease, records, status));
    return note(*open, records, status);
  }

  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    TRIAGE_TRYV(find(run));
    return memory_.read(run, range);
  }
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override { return memory_.runs(query); }
  Result<RunInfo> run(const RunId& id) override {
    TRIAGE_TRYV(find(id));
    return memory_.run(id);
  }

  // Older checkpoints of a run from another process are only known to the simple store.
  Result<Checkpoint> load(const CheckpointId& id) override {
    // A run from another process has no positions before the last saved one, so any found here are
    // right.
    auto here = CheckpointStore::load(id);
    if (here || here.error().code != Errc::not_found || !simple_) return here;
    return contained(id.run, [&]() -> Result<Checkpoint> {
      TRIAGE_TRY(saved, one_call([&] { return simple_->load(to_string(id)); }));
      TRIAGE_TRY(records, Rebuilder(saved).records());
      JournalReading reading{.info = {.id = id.run}, .records = std::move(records)};
      TRIAGE_TRY(journal, Journal::fold(reading));
      const auto position = journal.find(id.sequence);
      if (!position) return journal.latest();
      return journal.restore(*position);
    });
  }

  Result<void> erase(const RunId& run) override {
    return Error{Errc::unsupported, "a simple store cannot erase run \"" + run +
                                        "\"; remove it where its checkpoints are kept"};
  }
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override {
    return memory_.get(space, key);
  }
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    if (durability_ != Durability::none) {
      return Error{Errc::unsupported, "a simple store keeps no keys, so key \"" + printable(key) +
                                          "\" cannot be made as durable as its checkpoints"};
    }
    return memory_.put_if(space, key, expected, bytes);
  }
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override {
    return memory_.erase_if(space, key, expected);
  }
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override {
    return memory_.list(space, prefix);
  }

 private:
  Result<void> check_simple() const {
    if (simple_) return outcome::success();
    return Error{Errc::invalid_argument, "make_store() was given a null simple store"};
  }

  template <class F>
  auto one_call(F&& call) -> decltype(call()) {
    const std::scoped_lock lock(calls_);
    return call();
  }

  // The run, loaded from the simple store if this process does not have it yet.
  Result<std::shared_ptr<OpenRun>> find(const RunId& run) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto found = open_.find(run); found != open_.end()) return found->second;
    }
    TRIAGE_TRYV(check_run_id(run));
    TRIAGE_TRYV(check_simple());
    return contained(run, [&]() -> Result<std::shared_ptr<OpenRun>> {
      TRIAGE_TRY(saved, one_call([&] { return simple_->latest(run); }));
      if (!saved) return Error{Errc::not_found, "no run \"" + run + "\" in this simple store"};
      return adopt(run, *saved);
    });
  }

  Result<std::shared_ptr<OpenRun>> adopt(const RunId& run, const SavedCheckpoint& saved) {
    if (saved.run != run)
      return unusable(run, "it belongs to run \"" + printable(saved.run) + "\"");
    if (saved.run_data.at("format").get<int>() != data_format) {
      return Error{Errc::unsupported,
                   "run \"" + run + "\" was saved in format " + show(saved.run_data.at("format")) +
                       "; this version reads format " + std::to_string(data_format)};
    }
    TRIAGE_TRY(records, Rebuilder(saved).records());
    const Json& stored = saved.run_data.at("info");
    auto open = std::make_shared<OpenRun>();
    open->journal.set_run(run);
    open->info = {.id = run,
                  .agent = stored.at("agent").get<std::string>(),
                  .label = stored.at("label").get<std::string>(),
                  .parent = stored.at("parent").get<std::string>(),
                  .status = static_cast<RunStatus>(stored.at("status").get<int>()),
                  .started = to_time(stored.at("started").get<std::int64_t>()),
                  .updated = to_time(stored.at("updated").get<std::int64_t>())};
    for (const Record& record : records) open->journal.apply(record);
    if (!open->journal.started()) return unusable(run, "it does not contain the run's start");
    open->facts = saved.run_data.at("facts");
    const std::scoped_lock lock(mutex_);
    const auto [at, fresh] = open_.try_emplace(run, open);
    if (fresh) {
      TRIAGE_TRY(lease, memory_.start(open->info, records));
      TRIAGE_TRYV(memory_.release(lease));
    }
    return at->second;
  }

  // Folds the appended records and saves what changed.
  Result<void> note(OpenRun& run, std::span<const Record> records, RunStatus status) {
    const std::scoped_lock lock(run.mutex);
    for (const Record& record : records) {
      if (record.seq() <= run.journal.last()) continue;  // Retried after saving failed.
      run.journal.apply(record);
      run.info.updated = record.time();
      // A branch starts over from its first snapshot, so that one is a fact.
      const bool begins = record.seq() == run.journal.start_sequence();
      if (is_content(record.kind()) && !begins) continue;
      TRIAGE_TRY(body, record.body());
      run.facts.push_back({{"seq", record.seq()},
                           {"kind", static_cast<int>(record.kind())},
                           {"time", milliseconds(record.time())},
                           {"body", std::move(body)}});
    }
    const bool other_status = run.info.status != status;
    run.info.status = status;
    return contained(run.info.id, [&] { return save_changes(run, other_status); });
  }

  Result<void> save_changes(OpenRun& run, bool other_status) {
    const auto& branch = run.journal.branch();
    for (const std::uint32_t index : branch) {
      const Sequence seq = run.journal.positions()[index].seq;
      if (index == branch.back() || run.journal.label_of(seq).empty()) continue;
      if (run.saved_labels.contains(seq)) continue;
      TRIAGE_TRYV(save(run, index));
    }
    const std::pair<Sequence, std::size_t> now{
        branch.empty() ? 0 : run.journal.positions()[branch.back()].seq, run.facts.size()};
    if (now == run.saved && !other_status) return outcome::success();
    TRIAGE_TRYV(
        save(run, branch.empty() ? std::nullopt : std::optional<std::size_t>(branch.back())));
    run.saved = now;
    return outcome::success();
  }

  Result<void> save(OpenRun& run, std::optional<std::size_t> position) {
    Checkpoint at;
    at.info.id = {run.info.id, 1};
    if (position) at = run.journal.restore(*position);
    TRIAGE_TRY(steps, steps_as_json(at.trajectory));
    SavedCheckpoint saved{.id = to_string(at.info.id),
                          .run = run.info.id,
                          .label = detail::stored_label(at.info),
                          .state = at.state.json(),
                          .trajectory = std::move(steps),
                          .run_data = {{"format", data_format},
                                       {"info", describe(run.info)},
                                       {"last", run.journal.last()},
                                       {"at_start", !position.has_value()},
                                       {"facts", run.facts}}};
    TRIAGE_TRYV(one_call([&] { return simple_->save(saved); }));
    if (!saved.label.empty()) run.saved_labels.insert(at.info.id.sequence);
    return outcome::success();
  }

  const std::shared_ptr<SimpleStore> simple_;
  const Durability durability_;
  MemoryStore memory_{};
  std::mutex calls_;  // Held while the simple store is called, and then no other lock is taken.
  std::mutex mutex_;  // Guards open_; never held while the simple store is called.
  std::map<RunId, std::shared_ptr<OpenRun>, std::less<>> open_;
};

}  // namespace

std::shared_ptr<CheckpointStore> make_store(std::shared_ptr<SimpleStore> simple,
                                            Durability durability) {
  return std::make_shared<SimpleAdapter>(std::move(simple), durability);
}

}  // namespace triage::inline v0_1
