// SPDX-License-Identifier: MIT
#include "supervise/spec.hpp"

#include <string_view>

namespace triage::inline v0_1::supervise {
namespace {

std::int64_t milliseconds(Duration length) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
}

void read(const Json& task, const char* key, Duration& value) {
  value = std::chrono::milliseconds(task.value(key, milliseconds(value)));
}

}  // namespace

Json to_json(const RunSpec& spec) {
  return Json{{"command", spec.command},
              {"folder", spec.folder},
              {"timeout_ms", milliseconds(spec.timeout)},
              {"idle_timeout_ms", milliseconds(spec.idle_timeout)},
              {"kill_after_ms", milliseconds(spec.kill_after)},
              {"max_attempts", spec.max_attempts},
              {"start_ups", spec.start_ups},
              {"policy", spec.policy},
              {"adapter", spec.adapter},
              {"session", spec.session},
              {"workspace", spec.workspace},
              {"memory_bytes", spec.limits.memory_bytes},
              {"cpu_seconds", spec.limits.cpu_seconds},
              {"open_files", spec.limits.open_files}};
}

Result<RunSpec> spec_from_json(const Json& task) {
  RunSpec spec;
  try {
    spec.command = task.at("command").get<std::vector<std::string>>();
    spec.folder = task.at("folder").get<std::string>();
    read(task, "timeout_ms", spec.timeout);
    read(task, "idle_timeout_ms", spec.idle_timeout);
    read(task, "kill_after_ms", spec.kill_after);
    spec.max_attempts = task.value("max_attempts", spec.max_attempts);
    spec.start_ups = task.value("start_ups", spec.start_ups);
    spec.policy = task.value("policy", "");
    spec.adapter = task.value("adapter", "");
    spec.session = task.value("session", "auto");
    spec.workspace = task.value("workspace", "");
    spec.limits.memory_bytes = task.value("memory_bytes", std::uint64_t{0});
    spec.limits.cpu_seconds = task.value("cpu_seconds", std::uint64_t{0});
    spec.limits.open_files = task.value("open_files", std::uint64_t{0});
  } catch (const Json::exception&) {
    spec.command.clear();
  }
  if (spec.command.empty()) {
    return Error{Errc::corrupt, "the task of this run is no command of `triage run`"};
  }
  return outcome::success(std::move(spec));
}

}  // namespace triage::inline v0_1::supervise
