// SPDX-License-Identifier: MIT
#include "journal/record_body.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {

Json newest_body(const JournalReading& reading, RecordKind kind) {
  const auto newest = std::find_if(reading.records.rbegin(), reading.records.rend(),
                                   [&](const Record& record) { return record.kind() == kind; });
  if (newest == reading.records.rend()) return nullptr;
  auto body = newest->body();
  return body && body.value().is_object() ? std::move(body).value() : Json();
}

}  // namespace triage::inline v0_1::detail
