// SPDX-License-Identifier: MIT
#pragma once
// Reads the CBOR subset of record bodies, within the input and within limits on depth and memory.

#include "triage/record.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::detail {

namespace cbor {

enum Major : std::uint8_t {
  unsigned_integer = 0x00,
  negative_integer = 0x20,
  byte_string = 0x40,
  text_string = 0x60,
  array = 0x80,
  map = 0xa0,
  simple = 0xe0,
};
inline constexpr char false_byte = static_cast<char>(0xf4);
inline constexpr char true_byte = static_cast<char>(0xf5);
inline constexpr char null_byte = static_cast<char>(0xf6);
inline constexpr char double_byte = static_cast<char>(0xfb);

// Takes the head of an item of this major type, and its value or length, off `rest`. False if it
// is of another type, of a form that we do not write, or cut off.
[[nodiscard]] inline bool take_head(std::string_view& rest, Major major, std::uint64_t& value) {
  if (rest.empty()) return false;
  const auto first = static_cast<std::uint8_t>(rest.front());
  const std::uint8_t small = first & 0x1fU;
  if ((first & 0xe0U) != major || small > 27) return false;
  rest.remove_prefix(1);
  value = small;
  if (small < 24) return true;
  const std::size_t width = std::size_t{1} << (small - 24U);
  if (width > rest.size()) return false;
  value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value = value << 8U | static_cast<unsigned char>(rest[i]);
  }
  rest.remove_prefix(width);
  return true;
}

// Appends the head of an item, in its shortest form.
inline void put_head(std::string& out, Major major, std::uint64_t value) {
  const auto put = [&](std::uint8_t width_code, int bytes) {
    std::array<char, 9> text{};
    text[0] = static_cast<char>(major | width_code);
    for (int i = 0; i < bytes; ++i) {
      text[static_cast<std::size_t>(1 + i)] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
    }
    out.append(text.data(), static_cast<std::size_t>(1 + bytes));
  };
  if (value < 24) {
    out.push_back(static_cast<char>(major | value));
  } else if (value <= 0xffU) {
    put(24, 1);
  } else if (value <= 0xffffU) {
    put(25, 2);
  } else if (value <= 0xffffffffU) {
    put(26, 4);
  } else {
    put(27, 8);
  }
}

}  // namespace cbor

// Any false return means that the input is not what we write, or exceeds the limits.
class CborReader {
 public:
  explicit CborReader(std::string_view bytes, std::size_t most_memory = most_decoded_bytes)
      : rest_(bytes), memory_left_(most_memory) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  // `around`: the number of arrays and maps open around the value. As in check_json(), only these
  // count as levels; a number inside the innermost one does not.
  bool json(Json& out, int around) {
    std::uint8_t first = 0;
    if (!peek(first)) return false;
    switch (first & 0xe0U) {
      case cbor::unsigned_integer: {
        std::uint64_t value = 0;
        if (!head(cbor::unsigned_integer, value)) return false;
        out = value;
        return true;
      }
      case cbor::negative_integer: {
        std::int64_t value = 0;
        if (!integer(value)) return false;
        out = value;
        return true;
      }
      case cbor::text_string: {
        std::string value;
        if (!text(value)) return false;
        out = std::move(value);
        return true;
      }
      case cbor::array: return elements(out, around);
      case cbor::map: return members(out, around);
      case cbor::simple: return simple_value(out);
      default: return false;
    }
  }

  // Whether json() would stay within its limits, determined without building anything.
  bool skip(int around) {
    std::uint8_t first = 0;
    if (!peek(first)) return false;
    std::uint64_t count = 0;
    std::string_view skipped;
    switch (first & 0xe0U) {
      case cbor::unsigned_integer: return head(cbor::unsigned_integer, count);
      case cbor::negative_integer: return head(cbor::negative_integer, count);
      case cbor::text_string: return take_text(skipped);
      case cbor::array:
        if (!open(cbor::array, around, count)) return false;
        for (; count > 0; --count) {
          if (!charge(element_cost) || !skip(around + 1)) return false;
        }
        return true;
      case cbor::map:
        if (!open(cbor::map, around, count)) return false;
        for (; count > 0; --count) {
          if (!charge(member_cost) || !take_text(skipped) || !skip(around + 1)) return false;
        }
        return true;
      case cbor::simple: {
        Json value;
        return simple_value(value);
      }
      default: return false;
    }
  }

  bool text(std::string& out) {
    std::string_view found;
    if (!take_text(found)) return false;
    out.assign(found);
    return true;
  }
  // The same, as a view of the input.
  bool take_text(std::string_view& out) {
    std::uint64_t size = 0;
    if (!head(cbor::text_string, size) || size > rest_.size() || !charge(size)) return false;
    out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool integer(std::int64_t& out) {
    std::uint8_t first = 0;
    if (!peek(first)) return false;
    const bool negative = (first & 0xe0U) == cbor::negative_integer;
    std::uint64_t value = 0;
    if (!head(negative ? cbor::negative_integer : cbor::unsigned_integer, value)) return false;
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
    out = negative ? -1 - static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
    return true;
  }
  bool head(cbor::Major major, std::uint64_t& value) {
    return cbor::take_head(rest_, major, value);
  }

 private:
  // A rough estimate of decoded memory, which is up to eighty times the size of the bytes. An
  // array's elements are counted twice because it moves them when it grows.
  static constexpr std::size_t element_cost = 2 * sizeof(Json);
  static constexpr std::size_t member_cost = sizeof(Json) + sizeof(std::string) + 64;
  static constexpr std::size_t container_cost = 64;

  bool elements(Json& out, int around) {
    std::uint64_t count = 0;
    if (!open(cbor::array, around, count)) return false;
    Json::array_t elements;  // Grows as elements arrive: the length in the head is not trusted.
    for (; count > 0; --count) {
      if (!charge(element_cost)) return false;
      elements.emplace_back();
      if (!json(elements.back(), around + 1)) return false;
    }
    out = std::move(elements);
    return true;
  }
  bool members(Json& out, int around) {
    std::uint64_t count = 0;
    if (!open(cbor::map, around, count)) return false;
    Json::object_t members;
    for (; count > 0; --count) {
      std::string key;
      if (!charge(member_cost) || !text(key)) return false;
      const auto [member, fresh] = members.try_emplace(std::move(key));
      if (!fresh || !json(member->second, around + 1)) return false;
    }
    out = std::move(members);
    return true;
  }
  // The head of an array or map, if one more level is allowed.
  bool open(cbor::Major major, int around, std::uint64_t& count) {
    return around < max_body_depth && charge(container_cost) && head(major, count) &&
           count <= rest_.size();
  }
  bool charge(std::size_t bytes) noexcept {
    if (bytes > memory_left_) return false;
    memory_left_ -= bytes;
    return true;
  }
  bool peek(std::uint8_t& first) const noexcept {
    if (rest_.empty()) return false;
    first = static_cast<std::uint8_t>(rest_.front());
    return true;
  }
  bool simple_value(Json& out) {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    if (first == cbor::false_byte || first == cbor::true_byte) {
      out = first == cbor::true_byte;
      return true;
    }
    if (first == cbor::null_byte) {
      out = nullptr;
      return true;
    }
    if (first != cbor::double_byte || rest_.size() < 8) return false;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) bits = bits << 8U | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(8);
    out = std::bit_cast<double>(bits);
    return true;
  }

  std::string_view rest_;
  std::size_t memory_left_;
};

}  // namespace triage::inline v0_1::detail
