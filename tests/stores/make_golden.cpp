// SPDX-License-Identifier: MIT
// Writes the example of the current format: make_golden FILE. Run once for each new format; the
// files of older formats stay unchanged.
#include "stores/contract.hpp"
#include "triage/stores/sqlite.hpp"

#include <cstdio>

using namespace triage;
using namespace triage::test;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Journal journal("golden-1");
  const auto records = random_run(journal, 1, 40);
  const auto store = SqliteStore::open(argv[1]);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().detail.c_str());
    return 1;
  }
  const auto lease = store.value()->start(run_info("golden-1"), records);
  const bool done = lease && store.value()->append(lease.value(), {}, RunStatus::finished) &&
                    store.value()->release(lease.value()) &&
                    store.value()->put_if("space", "key", 0, "value");
  return done ? 0 : 1;
}
