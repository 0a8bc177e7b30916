// SPDX-License-Identifier: MIT
#include "triage/observers/json_lines.hpp"

#include "triage/detail/utc_text.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/step.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace triage::inline v0_1 {
namespace {

Json step_json(const Step& step) {
  Json json{{"action", step.action}};
  if (step.tool_called) json["tool"] = *step.tool_called;
  if (step.error) json["error"] = *step.error;
  if (step.http_status) json["http_status"] = *step.http_status;
  return json;
}

std::string line_of(const Event& event) {
  Json line{{"time", detail::utc_text_ms(event.time, "%Y-%m-%dT%H:%M:%S") + "Z"},
            {"event", std::string(to_string(event.kind))},
            {"run", event.run_id()},
            {"attempt", event.attempt}};
  if (!event.text.empty()) line["text"] = std::string(event.text);
  if (event.number != 0) line["number"] = event.number;
  if (event.step != nullptr) line["step"] = step_json(*event.step);
  if (event.error != nullptr) {
    line["error"] = {{"code", to_string(event.error->code)}, {"detail", event.error->message()}};
  }
  if (event.failure != nullptr) {
    const Classification& found = event.failure->classification;
    line["failure"] = {{"type", to_string(found.type)},
                       {"reason", found.reason},
                       {"confidence", found.confidence},
                       {"text", event.failure->text}};
  }
  if (event.action != nullptr) {
    line["action"] = {{"kind", to_string(event.action->kind)}, {"text", describe(*event.action)}};
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An open file; -1: none.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // A line that is cut off by a signal or a full disk is lost; the next one gets a line of its own.
  void append(std::string_view line) {
    std::string text(torn_ ? "\n" : "");
    text.append(line).append("\n");
    ssize_t written = 0;
    do {
      written = ::write(descriptor_, text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    if (written > 0) torn_ = text[static_cast<std::size_t>(written) - 1] != '\n';
  }

 private:
  int descriptor_;
  std::atomic<bool> torn_{false};
};

}  // namespace

std::shared_ptr<Observer> json_lines(std::function<void(std::string_view)> write) {
  return observe([write = std::move(write)](const Event& event) { write(line_of(event)); });
}

Result<std::shared_ptr<Observer>> json_lines_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return Error{Errc::io, "\"" + printable(path) + "\" cannot be opened: " + std::strerror(errno)};
  }
  auto file = std::make_shared<File>(descriptor);
  return json_lines([file](std::string_view line) { file->append(line); });
}

}  // namespace triage::inline v0_1
