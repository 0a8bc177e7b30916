// SPDX-License-Identifier: MIT
#include "support/power_loss_vfs.hpp"

#include "triage/clock.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace triage::test {
namespace {

constexpr std::size_t sector = 512;  // Writes tear at multiples of this.

struct Change {
  std::size_t offset = 0;
  std::string bytes{};
  std::optional<std::size_t> size{};  // A truncation, if set.
};

struct FileImage {
  std::string synced{};
  bool durable_name = false;  // The folder entry was synced.
  bool removed = false;       // Without a sync of the folder.
  std::vector<Change> pending{};

  static void apply(std::string& content, const Change& change) {
    if (change.size) {
      content.resize(*change.size);
      return;
    }
    const std::size_t end = change.offset + change.bytes.size();
    if (content.size() < end) content.resize(end);
    content.replace(change.offset, change.bytes.size(), change.bytes);
  }
  void sync() {
    for (const Change& change : pending) apply(synced, change);
    pending.clear();
    durable_name = true;
  }
};

}  // namespace

struct PowerLossVfs::Disk {
  std::string name;
  sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  sqlite3_vfs vfs{};
  sqlite3_io_methods methods{};
  std::map<std::string, FileImage> files;
  std::uint64_t operations_left = std::numeric_limits<std::uint64_t>::max();

  // Counts one write, truncation or sync; false when the power is off.
  bool operate() {
    if (operations_left == 0) return false;
    --operations_left;
    return true;
  }
};

namespace shim {

struct Handle {
  sqlite3_file base;
  void* disk;
  FileImage* image;
  sqlite3_file* real;
};

Handle* handle(sqlite3_file* file) { return reinterpret_cast<Handle*>(file); }
sqlite3_file* real(sqlite3_file* file) { return handle(file)->real; }
const sqlite3_io_methods* real_methods(sqlite3_file* file) { return real(file)->pMethods; }

int close(sqlite3_file* file) { return real_methods(file)->xClose(real(file)); }
int read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  return real_methods(file)->xRead(real(file), to, size, offset);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real_methods(file)->xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) { return real_methods(file)->xLock(real(file), level); }
int unlock(sqlite3_file* file, int level) { return real_methods(file)->xUnlock(real(file), level); }
int check_reserved(sqlite3_file* file, int* held) {
  return real_methods(file)->xCheckReservedLock(real(file), held);
}
int control(sqlite3_file* file, int operation, void* argument) {
  return real_methods(file)->xFileControl(real(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return real_methods(file)->xSectorSize(real(file)); }
int device(sqlite3_file* file) { return real_methods(file)->xDeviceCharacteristics(real(file)); }
int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** at) {
  return real_methods(file)->xShmMap(real(file), region, size, extend, at);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real_methods(file)->xShmLock(real(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { real_methods(file)->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) {
  return real_methods(file)->xShmUnmap(real(file), remove);
}

}  // namespace shim

// Functions that need the disk's private state, passed as a parameter.
struct PowerLossAccess {
  template <class Disk>
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    auto* disk = static_cast<Disk*>(shim::handle(file)->disk);
    if (!disk->operate()) return SQLITE_IOERR_WRITE;
    if (FileImage* image = shim::handle(file)->image) {
      image->pending.push_back(
          {static_cast<std::size_t>(offset),
           std::string(static_cast<const char*>(from), static_cast<std::size_t>(size)),
           std::nullopt});
    }
    return shim::real_methods(file)->xWrite(shim::real(file), from, size, offset);
  }
  template <class Disk>
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    auto* disk = static_cast<Disk*>(shim::handle(file)->disk);
    if (!disk->operate()) return SQLITE_IOERR_TRUNCATE;
    if (FileImage* image = shim::handle(file)->image) {
      image->pending.push_back({0, {}, static_cast<std::size_t>(size)});
    }
    return shim::real_methods(file)->xTruncate(shim::real(file), size);
  }
  template <class Disk>
  static int sync(sqlite3_file* file, int /*flags*/) {
    auto* disk = static_cast<Disk*>(shim::handle(file)->disk);
    if (!disk->operate()) return SQLITE_IOERR_FSYNC;
    if (FileImage* image = shim::handle(file)->image) image->sync();
    return SQLITE_OK;
  }
  template <class Disk>
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    auto* disk = static_cast<Disk*>(vfs->pAppData);
    auto* handle = shim::handle(file);
    handle->base.pMethods = nullptr;
    handle->disk = disk;
    handle->image = name == nullptr ? nullptr : &disk->files[name];
    handle->real = reinterpret_cast<sqlite3_file*>(handle + 1);
    const int code = disk->real->xOpen(disk->real, name, handle->real, flags, out);
    if (handle->real->pMethods != nullptr) handle->base.pMethods = &disk->methods;
    if (code == SQLITE_OK && handle->image != nullptr) handle->image->removed = false;
    return code;
  }
  template <class Disk>
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    auto* disk = static_cast<Disk*>(vfs->pAppData);
    if (!disk->operate()) return SQLITE_IOERR_DELETE;
    if (sync_folder != 0) {
      disk->files.erase(name);
    } else if (const auto found = disk->files.find(name); found != disk->files.end()) {
      found->second.removed = true;
    }
    return disk->real->xDelete(disk->real, name, 0);
  }
  template <class Disk>
  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
    auto* real = static_cast<Disk*>(vfs->pAppData)->real;
    return real->xAccess(real, name, flags, result);
  }
  template <class Disk>
  static int full_path(sqlite3_vfs* vfs, const char* name, int size, char* out) {
    auto* real = static_cast<Disk*>(vfs->pAppData)->real;
    return real->xFullPathname(real, name, size, out);
  }
};

PowerLossVfs::PowerLossVfs(std::string name) : disk_(std::make_unique<Disk>()) {
  Disk& disk = *disk_;
  disk.name = std::move(name);
  disk.methods = {.iVersion = 2,
                  .xClose = shim::close,
                  .xRead = shim::read,
                  .xWrite = PowerLossAccess::write<Disk>,
                  .xTruncate = PowerLossAccess::truncate<Disk>,
                  .xSync = PowerLossAccess::sync<Disk>,
                  .xFileSize = shim::file_size,
                  .xLock = shim::lock,
                  .xUnlock = shim::unlock,
                  .xCheckReservedLock = shim::check_reserved,
                  .xFileControl = shim::control,
                  .xSectorSize = shim::sector_size,
                  .xDeviceCharacteristics = shim::device,
                  .xShmMap = shim::shm_map,
                  .xShmLock = shim::shm_lock,
                  .xShmBarrier = shim::shm_barrier,
                  .xShmUnmap = shim::shm_unmap,
                  .xFetch = nullptr,
                  .xUnfetch = nullptr};
  disk.vfs = *disk.real;
  disk.vfs.zName = disk.name.c_str();
  disk.vfs.pNext = nullptr;
  disk.vfs.pAppData = &disk;
  disk.vfs.szOsFile = static_cast<int>(sizeof(shim::Handle)) + disk.real->szOsFile;
  disk.vfs.xOpen = PowerLossAccess::open<Disk>;
  disk.vfs.xDelete = PowerLossAccess::remove<Disk>;
  disk.vfs.xAccess = PowerLossAccess::access<Disk>;
  disk.vfs.xFullPathname = PowerLossAccess::full_path<Disk>;
  sqlite3_vfs_register(&disk.vfs, 0);
}

PowerLossVfs::~PowerLossVfs() { sqlite3_vfs_unregister(&disk_->vfs); }

void PowerLossVfs::cut_after(std::uint64_t operations) { disk_->operations_left = operations; }
bool PowerLossVfs::is_cut() const { return disk_->operations_left == 0; }

void PowerLossVfs::cut_power(std::uint64_t seed) {
  const auto random = seeded_random(seed);
  for (auto& [path, image] : disk_->files) {
    std::string content = image.synced;
    for (const Change& change : image.pending) {
      const std::uint64_t fate = random->next() % 3;
      if (fate == 0) continue;
      Change survived = change;
      if (fate == 1 && !change.size) {  // Torn: some of its sectors.
        const std::size_t sectors = change.bytes.size() / sector;
        survived.bytes.resize(
            std::min(change.bytes.size(), random->next() % (sectors + 1) * sector));
      }
      FileImage::apply(content, survived);
    }
    const bool exists =
        image.removed ? random->next() % 2 == 0 : image.durable_name || random->next() % 2 == 0;
    std::filesystem::remove(path);
    if (exists) std::ofstream(path, std::ios::binary) << content;
    if (path.ends_with("-wal")) {
      std::filesystem::remove(path.substr(0, path.size() - 4) + "-shm");  // Memory, not disk.
    }
  }
  disk_->files.clear();
  disk_->operations_left = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace triage::test
