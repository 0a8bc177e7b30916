// SPDX-License-Identifier: MIT
#pragma once
// A small versioned key space beside the journals, for data that several runs or processes share.

#include "triage/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

struct VersionedValue {
  std::string bytes{};
  std::uint64_t version = 0;  // 1 when first written; each write adds 1.
};

namespace detail {

// The library's own spaces. The library is recognised by the address of the name, so pass these
// views on as they are: a copy is refused.
enum class OwnSpace : std::uint8_t {
  suspensions,
  signals,
  forks,
  breakers,
  limiters,
  retry_budgets,
};
[[nodiscard]] std::string_view own_space(OwnSpace space) noexcept;

}  // namespace detail

// Called by a key space before it writes or removes. Errors: Errc::invalid_argument if the space
// begins with "triage/" and the caller is not the library itself.
[[nodiscard]] Result<void> check_space(std::string_view space);

// Spaces that begin with "triage/" belong to the library: anybody may read them, only the library
// writes them. A decorator of a key space must pass `space` on unchanged. Every CheckpointStore is
// a key space.
// Thread-safety: all members may be called from several threads at once.
// Errors of all members: Errc::io, Errc::busy (after a bounded wait), Errc::corrupt,
// Errc::unsupported (used after fork()), Errc::invalid_argument (see check_space).
class KeySpace {
 public:
  virtual ~KeySpace() = default;

  [[nodiscard]] virtual Result<std::optional<VersionedValue>> get(std::string_view space,
                                                                  std::string_view key) = 0;
  // Writes if the stored version is `expected` (0: no such key). Returns the new version. A store
  // with a server repeats a write whose answer got lost, and knows its own by a random word beside
  // the value: an equal value may be another writer's. After Errc::io, nobody knows whether it was
  // written, so a value that must be told from others names its writer. Errors: Errc::conflict,
  // also if it was written but overwritten before the lost answer was asked for again.
  [[nodiscard]] virtual Result<std::uint64_t> put_if(std::string_view space, std::string_view key,
                                                     std::uint64_t expected,
                                                     std::string_view bytes) = 0;
  // Removes the key if its stored version is `expected`; succeeds if there is no such key. A key
  // written again starts at version 1. Errors: Errc::conflict; Errc::unsupported if the key space
  // cannot remove keys, which is the default.
  [[nodiscard]] virtual Result<void> erase_if([[maybe_unused]] std::string_view space,
                                              [[maybe_unused]] std::string_view key,
                                              [[maybe_unused]] std::uint64_t expected) {
    return Error{Errc::unsupported, "this key space removes nothing"};
  }
  // Keys that begin with `prefix`, ascending.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(std::string_view space,
                                                              std::string_view prefix) = 0;

 protected:
  KeySpace() = default;
  KeySpace(const KeySpace&) = default;
  KeySpace& operator=(const KeySpace&) = default;
};

}  // namespace triage::inline v0_1
