// SPDX-License-Identifier: MIT
#include "output_file.hpp"

#include "supervise/process/file_descriptor.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace triage::inline v0_1::cli {
namespace {

using Write = std::function<Result<void>(std::ostream&)>;

Error unwritable(const std::string& path, int why) {
  return {Errc::io, "\"" + printable(path) + "\" cannot be written: " + std::strerror(why)};
}

Error refused(const OutputFile& file, const std::string& why) {
  return {Errc::invalid_argument,
          std::string(file.option) + " is \"" + printable(file.path) + "\", " + why};
}

// Where a symbolic link leads in the end, whether or not something is there.
std::filesystem::path without_links(std::filesystem::path file) {
  constexpr int most_links = 40;  // As for the kernel.
  std::error_code failed;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(file, failed); ++i) {
    file = file.parent_path() / std::filesystem::read_symlink(file, failed);
  }
  return file;
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failed;
  if (std::filesystem::equivalent(one, other, failed)) return true;
  return std::filesystem::weakly_canonical(one, failed) ==
         std::filesystem::weakly_canonical(other, failed);
}

bool is_store_folder(const std::filesystem::path& folder) {
  std::ifstream mark(folder / "store.json");
  std::string text(64, '\0');
  mark.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text.find("\"json_file\"") != text.npos;
}

// A store of JSON files has its journals in runs/; it removes what it finds in tmp/.
bool is_in_store(const std::filesystem::path& file) {
  std::error_code failed;
  const auto folder = std::filesystem::weakly_canonical(folder_of(file), failed);
  const auto name = folder.filename();
  const bool is_part = name == "runs" || name == "locks" || name == "tmp";
  return is_store_folder(folder) || (is_part && is_store_folder(folder.parent_path()));
}

bool is_database(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  std::ifstream file(path, std::ios::binary);
  return file && looks_like_database(file);
}

// SQLite's log or journal, which has the newest changes of the database beside it.
bool belongs_to_database(const std::string& path) {
  for (const std::string ending : {"-wal", "-shm", "-journal"}) {
    if (path.ends_with(ending) && is_database(path.substr(0, path.size() - ending.size()))) {
      return true;
    }
  }
  return false;
}

Result<void> check_output(const OutputFile& file) {
  struct stat there {};
  const bool exists = ::stat(file.path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) return unwritable(file.path, errno);
  const std::filesystem::path real = without_links(file.path);
  if (exists && S_ISDIR(there.st_mode)) return unwritable(file.path, EISDIR);
  // A file is replaced, which its folder must allow; anything else is written to.
  const bool replaced = !exists || S_ISREG(there.st_mode);
  const bool allowed = replaced ? ::access(folder_of(real).c_str(), W_OK | X_OK) == 0
                                : ::access(file.path.c_str(), W_OK) == 0;
  if (!allowed) return unwritable(file.path, errno);
  if (!replaced) return outcome::success();
  if (!file.database && is_database(file.path)) {
    return refused(file, "which is a SQLite database: perhaps a store; it is not replaced");
  }
  if (belongs_to_database(real.string())) {
    return refused(file, "which belongs to a SQLite database: perhaps a store");
  }
  if (is_in_store(real)) return refused(file, "which belongs to a store of JSON files");
  return outcome::success();
}

bool is_regular_or_new(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

bool is_standard_output(const std::string& path) {
  struct stat file {};
  struct stat out {};
  return ::stat(path.c_str(), &file) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 &&
         out.st_dev == file.st_dev && out.st_ino == file.st_ino;
}

Result<void> write_straight(const std::string& path, const Write& write) {
  std::ofstream out(path, std::ios::binary);
  if (!out) return unwritable(path, errno);
  TRIAGE_TRYV(write(out));
  out.close();
  return out ? Result<void>(outcome::success()) : unwritable(path, errno);
}

// Called while there is one thread: the mask can only be read by setting it.
mode_t usual_mode(const std::string& file) {
  struct stat there {};
  if (::stat(file.c_str(), &there) == 0) return there.st_mode & 07777U;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

}  // namespace

Result<void> check_outputs(std::span<const OutputFile> files, std::span<const std::string> reads) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const OutputFile& file = files[i];
    if (file.path.empty()) continue;
    TRIAGE_TRYV(check_output(file));
    if (!is_regular_or_new(file.path)) continue;
    for (const std::string& read : reads) {
      if (same_file(file.path, read == "-" ? "/dev/stdin" : read)) {
        return refused(file, "which this command reads");
      }
    }
    for (const OutputFile& other : files.first(i)) {
      if (!other.path.empty() && same_file(file.path, other.path)) {
        return refused(file, "which is " + std::string(other.option) + ", too");
      }
    }
  }
  return outcome::success();
}

Result<void> write_output(const std::string& path, const Write& write, Readable readable) {
  if (is_standard_output(path)) return write(std::cout);  // As /dev/stdout.
  if (!is_regular_or_new(path)) return write_straight(path, write);
  const std::string file = without_links(path).string();
  std::string part = file + ".XXXXXX";  // Another process may be writing this file.
  const supervise::FileDescriptor made(::mkostemp(part.data(), O_CLOEXEC));
  if (!made) return unwritable(path, errno);
  if (readable == Readable::as_usual) ::fchmod(made.get(), usual_mode(file));
  std::ofstream out(part, std::ios::binary);
  auto done = write(out);
  out.close();
  const auto kept = [&] {
    return out && ::fsync(made.get()) == 0 && ::rename(part.c_str(), file.c_str()) == 0;
  };
  if (done && !kept()) done = unwritable(path, errno);
  if (!done) ::unlink(part.c_str());
  return done;
}

bool looks_like_database(std::istream& in) {
  std::string head(15, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  in.clear();
  in.seekg(0);
  return head == "SQLite format 3";
}

}  // namespace triage::inline v0_1::cli
