// SPDX-License-Identifier: MIT
#pragma once
// Writes the scalars of the CBOR subset of record bodies. Private.

#include "journal/cbor_reader.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Appends to a string that outlives it.
class CborWriter {
 public:
  explicit CborWriter(std::string& out) : out_(out) {}

  void head(cbor::Major major, std::uint64_t value) { cbor::put_head(out_, major, value); }
  void text(std::string_view value) {
    head(cbor::text_string, value.size());
    out_.append(value);
  }
  void null() { out_.push_back(cbor::null_byte); }
  void boolean(bool value) { out_.push_back(value ? cbor::true_byte : cbor::false_byte); }
  void integer(std::int64_t value) {
    if (value >= 0) {
      head(cbor::unsigned_integer, static_cast<std::uint64_t>(value));
    } else {
      head(cbor::negative_integer, static_cast<std::uint64_t>(-1 - value));
    }
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    std::array<char, 9> bytes{};
    bytes[0] = cbor::double_byte;
    for (std::size_t i = 0; i < 8; ++i) bytes[1 + i] = static_cast<char>(bits >> (8 * (7 - i)));
    out_.append(bytes.data(), bytes.size());
  }

 protected:
  std::string& out_;
};

}  // namespace triage::inline v0_1::detail
