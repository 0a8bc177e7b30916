// SPDX-License-Identifier: MIT
#include "sqlite_files.hpp"

#include "triage/detail/hex.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

FilePrint::One print_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {.exists = true,
          .file = found.st_ino,
          .size = found.st_size,
          .changed_ns = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

std::string uri_of(const std::string& path, std::string_view parameters) {
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("/._-").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += '%';
      append_hex(c, uri);
    }
  }
  return uri + "?" + std::string(parameters);
}

}  // namespace

// Created without a name and linked when closed: closing a file that SQLite has open in this
// process would drop all its locks (POSIX).
bool make_private_file(const std::string& path) noexcept try {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) return false;
  std::string unnamed = path + ".XXXXXX";
  const int file = ::mkostemp(unnamed.data(), O_CLOEXEC);  // Mode 0600.
  if (file < 0) return false;
  ::close(file);
  // Otherwise another process was faster, or links are not supported: then SQLite creates the file.
  const bool made = ::link(unnamed.c_str(), path.c_str()) == 0;
  ::unlink(unnamed.c_str());
  return made;
} catch (...) {
  return false;
}

std::string plain_name(const std::string& path) {
  return path.starts_with("file:") ? "./" + path : path;
}

FilePrint take_print(const std::string& path) {
  return {.database = print_of(path),
          .log = print_of(path + "-wal"),
          .shared = ::access((path + "-shm").c_str(), F_OK) == 0};
}

Look choose_look(const std::string& path) {
  const FilePrint print = take_print(path);
  // Shared memory exists: used as it is, or recovered from the log if nobody writes.
  if (print.log.exists && print.shared) {
    return {.uri = uri_of(path, "mode=ro&readonly_shm=1")};
  }
  // No log: everything is in the file, and no process has it open.
  if (!print.log.exists || print.log.size == 0) {
    return {.uri = uri_of(path, "mode=ro&immutable=1"), .print = print};
  }
  // A log without shared memory, such as in a copy.
  return {.uri = uri_of(path, "mode=ro"), .print = print, .vfs = "unix-none", .exclusive = true};
}

}  // namespace triage::inline v0_1::detail
