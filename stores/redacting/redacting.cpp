// SPDX-License-Identifier: MIT
#include "triage/stores/redacting.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace detail {
namespace {

// Fields that the library writes itself and looks up by value.
constexpr std::array<std::string_view, 23> own_fields{
    "label",   "children",        "fingerprint",  "ticket", "parts",          "type",
    "status",  "child",           "compensation", "key",    "signal",         "allowed_actions",
    "version", "arguments",       "agent",        "name",   "reconciliation", "ended_child",
    "signals", "idempotency_key", "proposed",     "parent", "sleeps"};

bool is_own(std::string_view field) {
  return std::find(own_fields.begin(), own_fields.end(), field) != own_fields.end();
}

// Whether the field holds a user's value, in which a number or a name may be a secret, too.
bool is_users(RecordKind kind, std::string_view field) {
  constexpr std::array<std::string_view, 3> of_step{"i", "o", "m"};  // Input, output, metadata.
  constexpr std::array<std::string_view, 3> others{"task", "result", "value"};
  const auto has = [field](const auto& names) {
    return std::find(names.begin(), names.end(), field) != names.end();
  };
  return kind == RecordKind::state_changed ||
         (kind == RecordKind::step ? has(of_step) : has(others));
}

// A member of a step's metadata that `triage run` looks up by value: the name of the step's files.
constexpr const char* files_member = "triage/files";

bool is_files_name(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Takes that name out of the metadata; null if there is none.
Json take_files_name(Json& metadata) {
  if (!metadata.is_object()) return {};
  const auto found = metadata.find(files_member);
  if (found == metadata.end() || !is_files_name(*found)) return {};
  Json name = std::move(*found);
  metadata.erase(found);
  return name;
}

// Fields that hold states: values by name.
bool is_state(std::string_view field) { return field == "state" || field == "edits"; }

class Redacting final : public RedactingStore {
 public:
  Redacting(std::shared_ptr<CheckpointStore> store, std::shared_ptr<const Redactor> redactor,
            const RedactionScope& scope)
      : RedactingStore(std::move(store)), redactor_(std::move(redactor)), scope_(scope) {}
  ~Redacting() override { stop_queue(); }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    TRIAGE_TRY(redacted, without_secrets(records));
    return inner().start(run, redacted);
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    TRIAGE_TRY(redacted, without_secrets(records));
    return inner().append(lease, redacted, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    std::vector<std::vector<Record>> redacted(batches.size());
    std::vector<AppendBatch> passed;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      auto records = without_secrets(batches[i].records);
      if (!records) {
        batches[i].outcome = records.error();
        continue;
      }
      redacted[i] = std::move(records).value();
      passed.push_back(
          {.lease = batches[i].lease, .records = redacted[i], .status = batches[i].status});
      which.push_back(i);
    }
    inner().append_group(passed);
    for (std::size_t i = 0; i < which.size(); ++i) batches[which[i]].outcome = passed[i].outcome;
  }

  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    if (!scope_.results || space != own_space(OwnSpace::signals)) {
      return inner().put_if(space, key, expected, bytes);
    }
    auto value = decode_cbor(bytes);
    if (!value) return inner().put_if(space, key, expected, bytes);  // Not a library signal.
    TRIAGE_TRYV(clean(value.value()));
    if (value.value().contains("value")) {
      TRIAGE_TRYV(clean_users(value.value()["value"]));
    }
    std::string cleaned;
    encode_cbor(value.value(), cleaned);
    return inner().put_if(space, key, expected, cleaned);
  }

 private:
  Result<void> clean(Json& value) const { return clean(value, &redact_texts); }
  Result<void> clean_users(Json& value) const { return clean(value, &redact); }
  Result<void> clean(Json& value, void (*remove)(Json&, const Redactor&)) const {
    try {
      remove(value, *redactor_);
    } catch (const std::exception& problem) {
      return Error{Errc::io, std::string("nothing was stored: the redactor threw: ") +
                                 printable(problem.what())};
    }
    return outcome::success();
  }

  [[nodiscard]] bool left_out(RecordKind kind, std::string_view field) const {
    switch (kind) {
      case RecordKind::state_changed:
      case RecordKind::state_removed: return !scope_.state;
      case RecordKind::state_snapshot: return !scope_.state && field == "state";
      case RecordKind::forked: return !scope_.state && field == "edits";
      case RecordKind::run_started: return !scope_.tasks && field == "task";
      case RecordKind::suspended: return !scope_.tasks && field == "task";
      case RecordKind::effect_completed:
      case RecordKind::finished: return !scope_.results && field == "result";
      case RecordKind::signal_received: return !scope_.results && field == "value";
      default: return false;
    }
  }

  Result<Record> without_secrets(const Record& record) const {
    TRIAGE_TRY(body, record.body());
    const Json before = body;
    const RecordKind kind = record.kind();
    // Users choose these members' names, so each value is redacted according to its name.
    const bool users = kind == RecordKind::step || kind == RecordKind::state_changed;
    for (auto& [field, value] : body.items()) {
      if ((!users && is_own(field)) || left_out(kind, field) || kind == RecordKind::state_removed) {
        continue;
      }
      Json files;
      if (kind == RecordKind::step && field == "m") files = take_files_name(value);
      Json one = Json::object();
      one[field] = std::move(value);
      TRIAGE_TRYV(clean(one));
      value = std::move(one[field]);
      if (is_users(kind, field)) {
        TRIAGE_TRYV(clean_users(value));
      } else if (is_state(field) && value.is_object()) {
        for (auto& [name, inner] : value.items()) {
          TRIAGE_TRYV(clean_users(inner));
        }
      }
      if (!files.is_null() && value.is_object()) value[files_member] = std::move(files);
    }
    if (body == before) return outcome::success(record);
    return Record(record.seq(), kind, record.time(), std::make_shared<const Json>(std::move(body)));
  }

  Result<std::vector<Record>> without_secrets(std::span<const Record> records) const {
    std::vector<Record> redacted;
    redacted.reserve(records.size());
    for (const Record& record : records) {
      TRIAGE_TRY(one, without_secrets(record));
      redacted.push_back(std::move(one));
    }
    return outcome::success(std::move(redacted));
  }

  const std::shared_ptr<const Redactor> redactor_;
  const RedactionScope scope_;
};

}  // namespace
}  // namespace detail

Result<std::shared_ptr<RedactingStore>> RedactingStore::around(
    std::shared_ptr<CheckpointStore> inner, std::shared_ptr<const Redactor> redactor,
    const RedactionScope& scope) {
  if (inner == nullptr) return Error{Errc::invalid_argument, "there is no store to redact for"};
  if (redactor == nullptr) return Error{Errc::invalid_argument, "there is no redactor"};
  return outcome::success(std::shared_ptr<RedactingStore>(
      std::make_shared<detail::Redacting>(std::move(inner), std::move(redactor), scope)));
}

}  // namespace triage::inline v0_1
