// SPDX-License-Identifier: MIT
#include "triage/corrections.hpp"

#include "feedback/correction_json.hpp"
#include "journal/failure_json.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"
#include "triage/step.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t newest_steps_read = 2;  // The run survived older errors.

Error failed(const std::string& path, const char* what) {
  const int problem = errno;
  return {problem == ENOENT || problem == ENOTDIR ? Errc::not_found : Errc::io,
          "corrections file \"" + printable(path) + "\" " + what + ": " + std::strerror(problem)};
}

// Holds the file open and locked. A line that write_line() did not complete is removed again.
class Appending {
 public:
  explicit Appending(const std::string& path) : path_(path) {}
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;
  ~Appending() {
    if (file_ < 0) return;
    if (before_ >= 0 && ::ftruncate(file_, before_) != 0) {
      // The partial line stays; the next append starts a new line after it.
    }
    ::close(file_);  // Also releases the lock.
  }

  Result<void> write_line(std::string line) {
    TRIAGE_TRYV(open());
    TRIAGE_TRY(torn, ends_inside_a_line());
    line = (torn ? "\n" : "") + std::move(line) + '\n';
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t written = ::write(file_, line.data() + done, line.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return failed(path_, "cannot be written");
      done += static_cast<std::size_t>(written);
    }
    if (::fdatasync(file_) != 0) return failed(path_, "cannot be made durable");
    if (before_ == 0) {
      TRIAGE_TRYV(sync_folder());  // A new file's name must be durable too.
    }
    before_ = -1;
    return outcome::success();
  }

 private:
  Result<void> open() {
    file_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) return failed(path_, "cannot be opened");
    while (::flock(file_, LOCK_EX) != 0) {
      if (errno != EINTR) return failed(path_, "cannot be locked");
    }
    struct stat status {};
    if (::fstat(file_, &status) != 0) return failed(path_, "cannot be read");
    if (!S_ISREG(status.st_mode)) {
      return Error{Errc::io,
                   "corrections file \"" + printable(path_) + "\" is not an ordinary file"};
    }
    before_ = status.st_size;
    return outcome::success();
  }

  // True if a process died while writing.
  Result<bool> ends_inside_a_line() const {
    if (before_ == 0) return outcome::success(false);
    char last = '\0';
    if (::pread(file_, &last, 1, before_ - 1) != 1) return failed(path_, "cannot be read");
    return outcome::success(last != '\n');
  }

  Result<void> sync_folder() const {
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    const int opened =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return failed(path_, "is in a folder that cannot be opened");
    const int status = ::fsync(opened);
    const int problem = errno;
    ::close(opened);
    errno = problem;
    // Some file systems cannot sync a folder and need no sync to keep names.
    if (status != 0 && errno != EINVAL) return failed(path_, "cannot be made durable");
    return outcome::success();
  }

  const std::string& path_;
  int file_ = -1;
  off_t before_ = -1;  // The file's size before this line; -1: there is nothing to undo.
};

// Adds what the classifier read from the steps besides the reported failure.
void add_from_steps(const Trajectory& trajectory, Failure& failure) {
  for (std::size_t back = 1; back <= std::min(newest_steps_read, trajectory.size()); ++back) {
    const Step& step = trajectory[trajectory.size() - back];
    if (!step.error && !step.exception_type && !step.http_status && !step.json_rpc_code &&
        !step.grpc_status) {
      continue;
    }
    if (failure.text.empty()) failure.text = step.error.value_or("");
    if (failure.exception_type.empty()) failure.exception_type = step.exception_type.value_or("");
    const bool has_codes = failure.http_status || failure.json_rpc_code || failure.grpc_status;
    if (has_codes) return;
    failure.http_status = step.http_status;
    failure.json_rpc_code = step.json_rpc_code;
    failure.grpc_status = step.grpc_status;
    return;
  }
}

Correction unlabelled(const Json& body, const JournalReading& reading, std::size_t records) {
  Correction correction{.failure = detail::told_failure(body)};
  JournalReading until{.info = reading.info};
  until.records.assign(reading.records.begin(),
                       reading.records.begin() + static_cast<std::ptrdiff_t>(records));
  until.info.last = until.records.back().seq();
  if (const auto journal = Journal::fold(until)) {
    add_from_steps(journal.value().trajectory(), correction.failure);
  }
  correction.given =
      parse_failure_type(detail::text_field(body, "type")).value_or(FailureType::unknown);
  correction.type = correction.given;
  correction.reason = detail::text_field(body, "reason");
  correction.origin = detail::origin_name(reading.info.agent);
  correction.run = reading.info.id;
  return correction;
}

}  // namespace

Result<Correction> correction_of(const JournalReading& reading,
                                 std::optional<std::size_t> failure) {
  std::size_t seen = 0;
  std::size_t found = 0;  // Index in the records plus one; 0: none.
  for (std::size_t i = 0; i < reading.records.size(); ++i) {
    if (reading.records[i].kind() != RecordKind::failure_classified) continue;
    ++seen;
    if (!failure || seen == *failure) found = i + 1;
  }
  const std::string run = "run \"" + printable(reading.info.id) + "\"";
  if (seen == 0) return Error{Errc::not_found, run + " has no failure that could be corrected"};
  if (found == 0) {
    return Error{Errc::not_found, run + " has no failure " + std::to_string(*failure) +
                                      "; allowed are 1 to " + std::to_string(seen)};
  }
  const Result<Json> body = reading.records[found - 1].body();
  if (!body) return body.error();
  return outcome::success(unlabelled(body.value(), reading, found));
}

Result<void> Corrections::append(const Correction& correction) const {
  TRIAGE_TRYV(detail::check_correction(correction));
  return Appending(path_).write_line(detail::correction_line(correction));
}

Result<CorrectionsReading> Corrections::read() const {
  errno = 0;
  std::ifstream file(path_, std::ios::binary);
  if (!file) return failed(path_, "cannot be opened");
  CorrectionsReading reading;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<Correction> correction = detail::parse_correction(line);
    if (correction) {
      reading.rows.push_back({number, std::move(correction).value()});
    } else {
      reading.problems.push_back(
          {number, "line " + std::to_string(number) + ": " + correction.error().detail});
    }
  }
  if (file.bad()) return failed(path_, "cannot be read");
  return outcome::success(std::move(reading));
}

}  // namespace triage::inline v0_1
