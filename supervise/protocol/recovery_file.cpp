// SPDX-License-Identifier: MIT
#include "supervise/protocol/recovery_file.hpp"

#include "supervise/process/file_descriptor.hpp"

#include <utility>

namespace triage::inline v0_1::supervise {

Json recovery_json(const Attempt& attempt) {
  const Recovery* recovery = attempt.recovery();
  if (recovery == nullptr) return nullptr;
  Json evidence = Json::array();
  for (const Evidence& one : recovery->evidence) {
    evidence.push_back({{"source", one.source},
                        {"suggests", to_string(one.suggests)},
                        {"detail", one.detail},
                        {"confidence", one.confidence}});
  }
  return Json{{"action", to_string(recovery->action)},
              {"failure_type", to_string(recovery->failure_type)},
              {"reason", recovery->reason},
              {"hint", recovery->hint},
              {"subgoal", recovery->subgoal},
              {"evidence", std::move(evidence)},
              {"checkpoint_id", recovery->checkpoint_id},
              {"tools", recovery->tools},
              {"state", attempt.state().json()}};
}

Result<void> write_private(const std::string& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  for (std::size_t put = 0; !file || put < text.size();) {
    const ssize_t more = file ? ::write(file.get(), text.data() + put, text.size() - put) : -1;
    if (more < 0) {
      const Error why = system_error(path + " cannot be written");
      ::unlink(path.c_str());
      return why;
    }
    put += static_cast<std::size_t>(more);
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
