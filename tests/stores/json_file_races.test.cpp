// SPDX-License-Identifier: MIT
// What another process does to a JSON-file store between two reads of this one.
#include "stores/read_while_compacted.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"
#include "support/watched_reads.hpp"
#include "triage/stores/json_file.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("a run of several files that is compacted in the middle of its reading is read whole",
          "[stores][json_file][compaction]") {
  const TempFolder folder;
  const JsonFileOptions small{.segment_bytes = GENERATE(40'000U, 100'000U)};  // Four files, or two.
  const auto owner = JsonFileStore::open(folder.file("files"), small).value();
  const auto reader = JsonFileStore::open(folder.file("files"), {.read_only = true}).value();
  BeforeNth reads;
  const WatchedReads watched([&] { reads(); });
  read_while_compacted(reads, "r", *owner, *reader, 100);
}
