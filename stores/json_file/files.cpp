// SPDX-License-Identifier: MIT
#include "files.hpp"

#include "triage/clock.hpp"
#include "triage/detail/try.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>

namespace triage::inline v0_1::detail {
namespace {

constexpr mode_t own_file = S_IRUSR | S_IWUSR;
constexpr mode_t own_folder = S_IRWXU;

template <class Call>
auto again_if_interrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

Result<void> write_all(const File& file, const std::string& path, std::uint64_t at,
                       std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = again_if_interrupted([&] {
      return ::pwrite(file.handle(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    });
    if (written < 0) return file_error("writing", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return outcome::success();
}

Result<void> sync_file(const File& file, const std::string& path) {
  const int done = again_if_interrupted([&] { return ::fdatasync(file.handle()); });
  if (done != 0) return file_error("syncing", path);
  return outcome::success();
}

// Writes the bytes to a new file with a unique name.
Result<std::string> write_aside(const std::string& folder, std::string_view bytes, bool synced) {
  const std::string path = folder + "/new-" + std::to_string(real_random()->next());
  TRIAGE_TRY(file, open_file(path, O_WRONLY | O_CREAT | O_EXCL));
  Result<void> written = write_all(file, path, 0, bytes);
  if (written && synced) written = sync_file(file, path);
  if (!written) {
    ::unlink(path.c_str());
    return written.error();
  }
  return outcome::success(path);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

File::~File() {
  if (handle_ >= 0) ::close(handle_);
}

Error file_error(std::string_view doing, const std::string& path) {
  const int code = errno;
  return {code == ENOENT ? Errc::not_found : Errc::io,
          std::string(doing) + " " + path + ": " + std::generic_category().message(code)};
}

FileMark mark_of(const struct stat& status) noexcept {
  constexpr std::int64_t second_ns = 1'000'000'000;
  return {.number = status.st_ino,
          .changed_ns = status.st_ctim.tv_sec * second_ns + status.st_ctim.tv_nsec};
}

Result<File> open_file(const std::string& path, int flags) {
  // A pipe in the place of a file must not make anybody wait for its other end.
  const int handle = again_if_interrupted(
      [&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, own_file); });
  if (handle < 0) return file_error("opening", path);
  return outcome::success(File(handle));
}

Result<struct stat> status_of(const File& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.handle(), &status) != 0) return file_error("looking at", path);
  return outcome::success(status);
}

Result<std::string> read_at(const File& file, const std::string& path, std::uint64_t from,
                            std::uint64_t most) {
  std::string bytes;
  while (bytes.size() < most) {
    const std::size_t had = bytes.size();
    bytes.resize(had + std::min<std::uint64_t>(most - had, std::uint64_t{1} << 20U));
    const ssize_t got = again_if_interrupted([&] {
      return ::pread(file.handle(), bytes.data() + had, bytes.size() - had,
                     static_cast<off_t>(from + had));
    });
    if (got < 0) return file_error("reading", path);
    bytes.resize(had + static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return outcome::success(std::move(bytes));
}

Result<std::string> read_whole(const std::string& path) {
  TRIAGE_TRY(file, open_file(path, O_RDONLY));
  return read_at(file, path, 0, std::numeric_limits<std::uint64_t>::max());
}

Result<void> write_at(const File& file, const std::string& path, std::uint64_t at,
                      std::string_view bytes, bool synced) {
  TRIAGE_TRY(before, status_of(file, path));
  const auto cut = [&] { return ::ftruncate(file.handle(), static_cast<off_t>(at)); };
  if (static_cast<std::uint64_t>(before.st_size) > at && cut() != 0) {
    return file_error("cutting", path);
  }
  Result<void> written = write_all(file, path, at, bytes);
  if (written && synced) written = sync_file(file, path);
  // What stayed would be taken for safely stored when it is tried again.
  if (!written) static_cast<void>(cut());
  return written;
}

Result<void> link_whole(const std::string& folder, const std::string& path, std::string_view bytes,
                        bool synced) {
  TRIAGE_TRY(aside, write_aside(folder, bytes, synced));
  const int linked = ::link(aside.c_str(), path.c_str());
  const int code = errno;
  ::unlink(aside.c_str());
  if (linked != 0) {
    errno = code;
    if (code == EEXIST) return Error{Errc::conflict, path + " exists already"};
    return file_error("making", path);
  }
  return outcome::success();
}

Result<void> create_whole(const std::string& folder, const std::string& path,
                          std::string_view bytes, bool synced) {
  TRIAGE_TRYV(link_whole(folder, path, bytes, synced));
  if (!synced) return outcome::success();
  Result<void> kept = sync_folder(folder_of(path));
  // It would be taken for safely stored when it is tried again.
  if (!kept) ::unlink(path.c_str());
  return kept;
}

Result<void> replace_whole(const std::string& folder, const std::string& path,
                           std::string_view bytes, bool synced) {
  TRIAGE_TRY(aside, write_aside(folder, bytes, synced));
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const Error error = file_error("replacing", path);
    ::unlink(aside.c_str());
    return error;
  }
  return outcome::success();
}

Result<void> sync_folder(const std::string& path) {
  TRIAGE_TRY(folder, open_file(path, O_RDONLY | O_DIRECTORY));
  const int done = again_if_interrupted([&] { return ::fsync(folder.handle()); });
  if (done != 0) return file_error("syncing", path);
  return outcome::success();
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  struct CloseFolder {
    void operator()(DIR* open) const noexcept { ::closedir(open); }
  };
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (!open) return file_error("opening", folder);
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return outcome::success(std::move(names));
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), own_folder) == 0 || errno == EEXIST) return outcome::success();
  return file_error("making", path);
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return outcome::success();
  return file_error("removing", path);
}

bool exists(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

// Given up although a process that was forked meanwhile has the file open; but not by that one.
FileLock::~FileLock() {
  if (file_.handle() >= 0 && process_.is_here()) ::flock(file_.handle(), LOCK_UN);
}

Result<FileLock> FileLock::take(const std::string& path, bool shared,
                                std::chrono::milliseconds timeout) {
  TRIAGE_TRY(file, open_file(path, O_RDWR | O_CREAT));
  const auto until = std::chrono::steady_clock::now() + timeout;
  const int operation = (shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  auto pause = std::chrono::microseconds(50);
  while (again_if_interrupted([&] { return ::flock(file.handle(), operation); }) != 0) {
    if (errno != EWOULDBLOCK) return file_error("locking", path);
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) {
      return Error{Errc::busy, path + " is locked by another process, for longer than " +
                                   std::to_string(timeout.count()) + " ms"};
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, left));
    pause = std::min(pause * 2, std::chrono::microseconds(5'000));
  }
  return outcome::success(FileLock(std::move(file)));
}

}  // namespace triage::inline v0_1::detail
