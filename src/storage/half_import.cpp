// SPDX-License-Identifier: MIT
#include "storage/half_import.hpp"

#include "storage/run_keys.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

namespace triage::inline v0_1::detail {
namespace {

const std::string_view signals = own_space(OwnSpace::signals);

// A mark that outlived its run says nothing about a later one of the same name.
std::string mark_of(const RunInfo& run, Sequence last) {
  std::string bytes;
  encode_cbor(Json{{"started_ms", run.started.time_since_epoch().count()}, {"last", last}}, bytes);
  return bytes;
}

}  // namespace

std::string import_mark_key(const RunId& run) { return signal_key(run, {}); }

Result<void> mark_import(KeySpace& keys, const RunInfo& run, Sequence last) {
  const std::string key = import_mark_key(run.id);
  const std::string mark = mark_of(run, last);
  TRIAGE_TRY(stored, keys.get(signals, key));
  if (stored && stored->bytes == mark) return outcome::success();
  TRIAGE_TRYV(keys.put_if(signals, key, stored ? stored->version : 0, mark));
  return outcome::success();
}

Result<void> unmark_import(KeySpace& keys, const RunId& run) {
  const std::string key = import_mark_key(run);
  TRIAGE_TRY(stored, keys.get(signals, key));
  if (!stored) return outcome::success();
  auto gone = keys.erase_if(signals, key, stored->version);
  if (gone || gone.error().code != Errc::unsupported) return gone;
  TRIAGE_TRYV(
      keys.put_if(signals, key, stored->version, {}));  // What cannot be removed is emptied.
  return outcome::success();
}

Result<bool> is_half_imported(KeySpace& keys, const RunInfo& run) {
  if (run.status != importing) return outcome::success(false);
  TRIAGE_TRY(stored, keys.get(signals, import_mark_key(run.id)));
  if (!stored) return outcome::success(false);
  const auto mark = decode_cbor(stored->bytes);
  if (!mark || !mark.value().is_object()) return outcome::success(false);
  const auto last = mark.value().find("last");
  if (last == mark.value().end() || !last->is_number_unsigned()) return outcome::success(false);
  const auto promised = last->get<Sequence>();
  return outcome::success(run.last <= promised && stored->bytes == mark_of(run, promised));
}

Result<void> check_imported(KeySpace& keys, const RunInfo& run) {
  TRIAGE_TRY(half, is_half_imported(keys, run));
  if (!half) return outcome::success();
  return Error{Errc::conflict, "run \"" + run.id +
                                   "\" was imported in part only; import its file again, or remove "
                                   "the run"};
}

}  // namespace triage::inline v0_1::detail
