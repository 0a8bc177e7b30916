// SPDX-License-Identifier: MIT
// The CBOR subset that record bodies use (RFC 8949): definite lengths, text keys, 64-bit floats.
// Own code because the general-purpose decoder recurses without a limit and builds a tree first.
#include "triage/record.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace triage::inline v0_1::detail {
namespace {

enum Major : std::uint8_t {
  unsigned_integer = 0x00,
  negative_integer = 0x20,
  byte_string = 0x40,
  text_string = 0x60,
  array = 0x80,
  map = 0xa0,
  simple = 0xe0,
};
constexpr char false_byte = static_cast<char>(0xf4);
constexpr char true_byte = static_cast<char>(0xf5);
constexpr char null_byte = static_cast<char>(0xf6);
constexpr char double_byte = static_cast<char>(0xfb);

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void head(Major major, std::uint64_t value) {
    const auto put = [&](std::uint8_t width_code, int bytes) {
      std::array<char, 9> text{};
      text[0] = static_cast<char>(major | width_code);
      for (int i = 0; i < bytes; ++i) {
        text[static_cast<std::size_t>(1 + i)] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
      }
      out_.append(text.data(), static_cast<std::size_t>(1 + bytes));
    };
    if (value < 24) {
      out_.push_back(static_cast<char>(major | value));
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
  void text(std::string_view value) {
    head(text_string, value.size());
    out_.append(value);
  }
  void boolean(bool value) { out_.push_back(value ? true_byte : false_byte); }
  void integer(std::int64_t value) {
    if (value >= 0) {
      head(unsigned_integer, static_cast<std::uint64_t>(value));
    } else {
      head(negative_integer, static_cast<std::uint64_t>(-1 - value));
    }
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    std::array<char, 9> bytes{};
    bytes[0] = double_byte;
    for (std::size_t i = 0; i < 8; ++i) bytes[1 + i] = static_cast<char>(bits >> (8 * (7 - i)));
    out_.append(bytes.data(), bytes.size());
  }
  // Recursion is bounded: values were checked against max_json_depth when they were recorded.
  void json(const Json& value) {
    switch (value.type()) {
      case Json::value_t::boolean: boolean(value.get<bool>()); break;
      case Json::value_t::string: text(value.get_ref<const std::string&>()); break;
      case Json::value_t::number_unsigned:
        head(unsigned_integer, value.get<std::uint64_t>());
        break;
      case Json::value_t::number_integer: integer(value.get<std::int64_t>()); break;
      case Json::value_t::number_float: real(value.get<double>()); break;
      case Json::value_t::array:
        head(array, value.size());
        for (const Json& element : value.get_ref<const Json::array_t&>()) json(element);
        break;
      case Json::value_t::object:
        head(map, value.size());
        for (const auto& [key, element] : value.get_ref<const Json::object_t&>()) {
          text(key);
          json(element);
        }
        break;
      default: out_.push_back(null_byte); break;
    }
  }

 private:
  std::string& out_;
};

// Reads within the input only; any false return means that the input is not what we write.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  bool json(Json& out, int depth) {
    if (depth > max_json_depth) return false;
    std::uint8_t first = 0;
    if (!peek(first)) return false;
    switch (first & 0xe0U) {
      case unsigned_integer: {
        std::uint64_t value = 0;
        if (!head(unsigned_integer, value)) return false;
        out = value;
        return true;
      }
      case negative_integer: {
        std::int64_t value = 0;
        if (!integer(value)) return false;
        out = value;
        return true;
      }
      case text_string: {
        std::string value;
        if (!text(value)) return false;
        out = std::move(value);
        return true;
      }
      case array: {
        std::uint64_t count = 0;
        if (!head(array, count) || count > rest_.size()) return false;
        Json::array_t elements;
        elements.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) {
          elements.emplace_back();
          if (!json(elements.back(), depth + 1)) return false;
        }
        out = std::move(elements);
        return true;
      }
      case map: {
        std::uint64_t count = 0;
        if (!head(map, count) || count > rest_.size()) return false;
        Json::object_t members;
        for (std::uint64_t i = 0; i < count; ++i) {
          std::string key;
          if (!text(key)) return false;
          const auto [member, fresh] = members.try_emplace(std::move(key));
          if (!fresh || !json(member->second, depth + 1)) return false;
        }
        out = std::move(members);
        return true;
      }
      case simple: return simple_value(out);
      default: return false;
    }
  }

  bool text(std::string& out) {
    std::uint64_t size = 0;
    if (!head(text_string, size) || size > rest_.size()) return false;
    out.assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return true;
  }
  bool integer(std::int64_t& out) {
    std::uint8_t first = 0;
    if (!peek(first)) return false;
    const bool negative = (first & 0xe0U) == negative_integer;
    std::uint64_t value = 0;
    if (!head(negative ? negative_integer : unsigned_integer, value)) return false;
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
    out = negative ? -1 - static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
    return true;
  }
  bool head(Major major, std::uint64_t& value) {
    std::uint8_t first = 0;
    if (!peek(first) || (first & 0xe0U) != major) return false;
    rest_.remove_prefix(1);
    const std::uint8_t small = first & 0x1fU;
    if (small < 24) {
      value = small;
      return true;
    }
    if (small > 27) return false;
    const std::size_t width = std::size_t{1} << (small - 24U);
    if (width > rest_.size()) return false;
    value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value = value << 8U | static_cast<unsigned char>(rest_[i]);
    }
    rest_.remove_prefix(width);
    return true;
  }

 private:
  bool peek(std::uint8_t& first) const noexcept {
    if (rest_.empty()) return false;
    first = static_cast<std::uint8_t>(rest_.front());
    return true;
  }
  bool simple_value(Json& out) {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    if (first == false_byte || first == true_byte) {
      out = first == true_byte;
      return true;
    }
    if (first == null_byte) {
      out = nullptr;
      return true;
    }
    if (first != double_byte || rest_.size() < 8) return false;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) bits = bits << 8U | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(8);
    out = std::bit_cast<double>(bits);
    return true;
  }

  std::string_view rest_;
};

// Field names on disk: see docs/checkpoint_format.md. They never change.
constexpr std::string_view action_key = "a";
constexpr std::string_view tool_key = "t";
constexpr std::string_view input_key = "i";
constexpr std::string_view output_key = "o";
constexpr std::string_view llm_key = "l";
constexpr std::string_view error_key = "e";
constexpr std::string_view exception_key = "x";
constexpr std::string_view http_key = "h";
constexpr std::string_view rpc_key = "j";
constexpr std::string_view grpc_key = "g";
constexpr std::string_view agent_key = "b";
constexpr std::string_view idempotent_key = "d";
constexpr std::string_view metadata_key = "m";

bool read_code(Reader& reader, std::optional<int>& out) {
  std::int64_t value = 0;
  if (!reader.integer(value) || value < std::numeric_limits<int>::min() ||
      value > std::numeric_limits<int>::max()) {
    return false;
  }
  out = static_cast<int>(value);
  return true;
}

bool read_field(Reader& reader, std::string_view key, Step& step) {
  if (key == action_key) return reader.text(step.action);
  if (key == tool_key) return reader.text(step.tool_called.emplace());
  if (key == input_key) return reader.json(step.tool_input, 1);
  if (key == output_key) return reader.json(step.tool_output, 1);
  if (key == llm_key) return reader.text(step.llm_output.emplace());
  if (key == error_key) return reader.text(step.error.emplace());
  if (key == exception_key) return reader.text(step.exception_type.emplace());
  if (key == http_key) return read_code(reader, step.http_status);
  if (key == rpc_key) return read_code(reader, step.json_rpc_code);
  if (key == grpc_key) return read_code(reader, step.grpc_status);
  if (key == agent_key) return reader.text(step.agent_id.emplace());
  if (key == metadata_key) return reader.json(step.metadata, 1);
  Json other;
  if (!reader.json(other, 1)) return false;
  if (key == idempotent_key) {
    if (!other.is_boolean()) return false;
    step.idempotent = other.get<bool>();
  }
  return true;  // A field of a later minor version: skipped.
}

Error not_ours(std::string_view what) {
  return {Errc::corrupt, std::string(what) + " is not in the format that this version writes"};
}

}  // namespace

void encode_cbor(const Json& value, std::string& out) { Writer(out).json(value); }

Result<Json> decode_cbor(std::string_view bytes) {
  Reader reader(bytes);
  Json value;
  if (!reader.json(value, 1) || !reader.at_end()) return not_ours("a record body");
  return outcome::success(std::move(value));
}

void encode_step(const Step& step, std::string& out) {
  Writer writer(out);
  const auto present = [](const auto& field) -> std::uint64_t { return field ? 1 : 0; };
  const auto not_null = [](const Json& field) -> std::uint64_t { return field.is_null() ? 0 : 1; };
  writer.head(
      map, 1 + present(step.tool_called) + not_null(step.tool_input) + not_null(step.tool_output) +
               present(step.llm_output) + present(step.error) + present(step.exception_type) +
               present(step.http_status) + present(step.json_rpc_code) + present(step.grpc_status) +
               present(step.agent_id) + (step.idempotent ? 1U : 0U) + not_null(step.metadata));
  const auto text = [&](std::string_view key, const std::optional<std::string>& field) {
    if (!field) return;
    writer.text(key);
    writer.text(*field);
  };
  const auto code = [&](std::string_view key, const std::optional<int>& field) {
    if (!field) return;
    writer.text(key);
    writer.integer(*field);
  };
  const auto json = [&](std::string_view key, const Json& field) {
    if (field.is_null()) return;
    writer.text(key);
    writer.json(field);
  };
  writer.text(action_key);
  writer.text(step.action);
  text(tool_key, step.tool_called);
  json(input_key, step.tool_input);
  json(output_key, step.tool_output);
  text(llm_key, step.llm_output);
  text(error_key, step.error);
  text(exception_key, step.exception_type);
  code(http_key, step.http_status);
  code(rpc_key, step.json_rpc_code);
  code(grpc_key, step.grpc_status);
  text(agent_key, step.agent_id);
  if (step.idempotent) {
    writer.text(idempotent_key);
    writer.boolean(true);
  }
  json(metadata_key, step.metadata);
}

Result<Step> decode_step(std::string_view bytes) {
  Reader reader(bytes);
  std::uint64_t fields = 0;
  if (!reader.head(map, fields)) return not_ours("a step");
  Step step;
  std::string key;
  for (std::uint64_t i = 0; i < fields; ++i) {
    if (!reader.text(key) || !read_field(reader, key, step)) return not_ours("a step");
  }
  if (!reader.at_end()) return not_ours("a step");
  return outcome::success(std::move(step));
}

}  // namespace triage::inline v0_1::detail
