// SPDX-License-Identifier: MIT
// CBOR that a program wrote with a step, checked and stored in one pass. Own code for its
// speed, as in json_text.cpp: nlohmann's SAX reader takes 3.1 times as long.
#include "journal/value_builder.hpp"
#include "journal/value_bytes.hpp"
#include "triage/json.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::uint8_t half_byte = 0xf9;
constexpr std::uint8_t single_byte = 0xfa;
constexpr std::uint8_t tag = 0xc0;
constexpr std::uint8_t indefinite = 31;  // In place of a length.

// Source: RFC 8949, appendix D.
double half_float(std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10U & 31U);
  const auto fraction = static_cast<double>(bits & 1023U);
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent != 31) {
    value = std::ldexp(fraction + 1024, exponent - 25);
  } else {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

class ForeignCbor {
 public:
  ForeignCbor(std::string_view bytes, std::string& out)
      : rest_(bytes), size_(bytes.size()), out_(out) {}

  bool run() { return value(1) && (rest_.empty() || fail("bytes follow the value")); }

  [[nodiscard]] Error error(std::string_view what) const {
    return {Errc::invalid_argument, std::string(what) + problem_};
  }

 private:
  bool fail(std::string_view problem) {
    problem_ = " is not CBOR that can be stored: " + std::string(problem) + ", at byte " +
               std::to_string(size_ - rest_.size());
    return false;
  }

  // `depth`: of an array or map that begins here.
  bool value(int depth) {
    if (rest_.empty()) return fail("it is cut off");
    const auto first = static_cast<std::uint8_t>(rest_.front());
    std::uint64_t number = 0;
    switch (first & 0xe0U) {
      case cbor::unsigned_integer:
        if (!head(cbor::unsigned_integer, number)) return false;
        out_.head(cbor::unsigned_integer, number);
        return true;
      case cbor::negative_integer:
        if (!head(cbor::negative_integer, number)) return false;
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          return fail("an integer is below -2^63");
        }
        out_.head(cbor::negative_integer, number);
        return true;
      case cbor::text_string: {
        std::string_view text;
        if (!take_text(text)) return false;
        out_.text(text);
        return true;
      }
      case cbor::array: return array(depth);
      case cbor::map: return map(depth);
      case cbor::byte_string: return fail("a binary value; only JSON types are allowed");
      case tag: return fail("a tag");
      default: return simple(first);
    }
  }

  bool head(cbor::Major major, std::uint64_t& number) {
    if ((static_cast<std::uint8_t>(rest_.front()) & 0x1fU) == indefinite) {
      return fail("a length that is not told beforehand");
    }
    return cbor::take_head(rest_, major, number) || fail("it is cut off");
  }

  bool take_text(std::string_view& text) {
    std::uint64_t size = 0;
    if (!head(cbor::text_string, size)) return false;
    if (size > rest_.size()) return fail("it is cut off");
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool goes_deeper(int depth) {
    if (depth <= max_json_depth) return true;
    problem_ = too_deep_problem();
    return false;
  }

  bool array(int depth) {
    std::uint64_t size = 0;
    if (!goes_deeper(depth) || !head(cbor::array, size)) return false;
    const ValueBuilder::Open array = out_.open();
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!value(depth + 1)) return false;
    }
    out_.close_array(array, size);
    return true;
  }

  bool map(int depth) {
    std::uint64_t size = 0;
    if (!goes_deeper(depth) || !head(cbor::map, size)) return false;
    const ValueBuilder::Open map = out_.open();
    for (std::uint64_t i = 0; i < size; ++i) {
      if (rest_.empty()) return fail("it is cut off");
      if ((static_cast<std::uint8_t>(rest_.front()) & 0xe0U) != cbor::text_string) {
        return fail("a key that is not text");
      }
      std::string_view name;
      if (!take_text(name)) return false;
      out_.key(name);
      if (!value(depth + 1)) return false;
    }
    out_.close_map(map);
    return true;
  }

  bool simple(std::uint8_t first) {
    const char byte = rest_.front();
    if (byte == cbor::true_byte || byte == cbor::false_byte) {
      out_.boolean(byte == cbor::true_byte);
    } else if (byte == cbor::null_byte) {
      out_.null();
    } else {
      return real(first);
    }
    rest_.remove_prefix(1);
    return true;
  }

  bool real(std::uint8_t first) {
    const std::size_t width = first == half_byte                                      ? 2
                              : first == single_byte                                  ? 4
                              : first == static_cast<std::uint8_t>(cbor::double_byte) ? 8
                                                                                      : 0;
    if (width == 0) return fail("a value that JSON does not have");
    if (rest_.size() <= width) return fail("it is cut off");
    std::uint64_t bits = 0;
    for (std::size_t i = 1; i <= width; ++i) {
      bits = bits << 8U | static_cast<unsigned char>(rest_[i]);
    }
    rest_.remove_prefix(1 + width);
    out_.real(width == 2 ? half_float(bits)
              : width == 4
                  ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                  : std::bit_cast<double>(bits));
    return true;
  }

  std::string_view rest_;
  std::size_t size_;
  ValueBuilder out_;
  std::string problem_{};
};

}  // namespace

Result<void> append_cbor(std::string_view cbor, std::string_view what, std::string& out) {
  ForeignCbor reader(cbor, out);
  if (!reader.run()) return reader.error(what);
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
