// SPDX-License-Identifier: MIT
// triage checkpoint release: takes a run away from an owner that will not go on with it.

#include "command.hpp"
#include "open_store.hpp"
#include "render/output.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

struct ReleaseArguments {
  std::string store{};
  std::string run{};
  bool force = false;
};

}  // namespace

std::function<ExitStatus()> checkpoint_release(CLI::App& arguments) {
  auto given = std::make_shared<ReleaseArguments>();
  arguments.add_option("STORE", given->store, store_help)->required();
  arguments.add_option("RUN", given->run, "The run that is to be free.")->required();
  arguments.add_flag("--force", given->force,
                     "Even if its owner seems to be alive and at work. What it appends from now on "
                     "is refused; an effect that it is just carrying out stays in doubt.");
  return [given] {
    auto freed = free_run(given->store, given->run, given->force);
    if (!freed) return report(freed.error());
    print(freed.value().empty()
              ? "Run " + given->run + " was free already.\n"
              : "Run " + given->run + " is free; it was taken from " + freed.value() + ".\n");
    return ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
