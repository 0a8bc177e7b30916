// SPDX-License-Identifier: MIT
#pragma once
// The lines of an export.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

struct ExportedKey {
  OwnSpace space{};
  std::string key{};
  std::string bytes{};
};

struct ExportEnd {
  std::uint64_t runs = 0;
  std::uint64_t records = 0;
};

// A parsed line. At most one member is set; none: the head.
struct ExportLine {
  std::optional<RunInfo> run{};
  std::optional<Record> record{};
  std::optional<ExportedKey> key{};
  std::optional<ExportEnd> end{};
};

// Writes lines and computes their totals.
class ExportWriter {
 public:
  explicit ExportWriter(std::ostream& out) : out_(out) {}
  void head();
  void run(const RunInfo& info);
  void record(const Record& record);
  void key(const ExportedKey& key);
  // Writes the last line. Errors: Errc::io.
  [[nodiscard]] Result<void> end();
  [[nodiscard]] const ExportEnd& sums() const noexcept { return sums_; }

 private:
  void line(const Json& value);

  std::ostream& out_;
  std::uint32_t crc_ = 0;
  ExportEnd sums_{};
};

// Reads lines and checks them against the totals.
class ExportReader {
 public:
  explicit ExportReader(std::istream& in) : in_(in) {}
  // The next line; the last one is the end, already checked. Errors: Errc::corrupt (also if the
  // file has no end line), Errc::unsupported.
  [[nodiscard]] Result<ExportLine> next();

 private:
  [[nodiscard]] Error corrupt(std::string_view why) const;

  std::istream& in_;
  std::uint32_t crc_ = 0;
  std::uint64_t number_ = 0;
  ExportEnd sums_{};
};

}  // namespace triage::inline v0_1::detail
