// SPDX-License-Identifier: MIT
// triage checkpoint label: labels a checkpoint from inside a supervised program.

#include "command.hpp"
#include "programs/supervisor_client.hpp"

#include <memory>
#include <string>

namespace triage::inline v0_1::cli {

std::function<ExitStatus()> checkpoint_label(CLI::App& arguments) {
  auto label = std::make_shared<std::string>();
  arguments.add_option("LABEL", *label, "Found again by a rollback.")->required();
  arguments.footer("Example: triage checkpoint label planned");
  return [label] { return tell_supervisor({{"checkpoint", *label}}); };
}

}  // namespace triage::inline v0_1::cli
