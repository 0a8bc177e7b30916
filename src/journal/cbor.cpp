// SPDX-License-Identifier: MIT
// The CBOR subset that record bodies use (RFC 8949): definite lengths, text keys, 64-bit floats.
// Own code because the general-purpose decoder recurses without a limit and builds a tree first.
#include "journal/cbor_reader.hpp"
#include "journal/cbor_writer.hpp"
#include "journal/value_bytes.hpp"
#include "triage/detail/try.hpp"
#include "triage/record.hpp"

#include <limits>
#include <optional>

namespace triage::inline v0_1::detail {
namespace {

using cbor::array;
using cbor::map;

class Writer : public CborWriter {
 public:
  explicit Writer(std::string& out, int deepest = std::numeric_limits<int>::max())
      : CborWriter(out), deepest_(deepest) {}

  // False once it was given what cannot be stored: binary or discarded values, or too deep ones.
  [[nodiscard]] bool storable() const noexcept { return storable_; }

  // Recursion is bounded: by `deepest`, or values were checked against max_json_depth when they
  // were recorded, and the library's own wrappers add at most max_wrapper_depth levels.
  void json(const Json& value, int depth = 1) {
    switch (value.type()) {
      case Json::value_t::boolean: boolean(value.get<bool>()); break;
      case Json::value_t::string: text(value.get_ref<const std::string&>()); break;
      case Json::value_t::number_unsigned:
        head(cbor::unsigned_integer, value.get<std::uint64_t>());
        break;
      case Json::value_t::number_integer: integer(value.get<std::int64_t>()); break;
      case Json::value_t::number_float: real(value.get<double>()); break;
      case Json::value_t::array:
        if (depth > deepest_) return refuse();
        head(array, value.size());
        for (const Json& element : value.get_ref<const Json::array_t&>()) json(element, depth + 1);
        break;
      case Json::value_t::object:
        if (depth > deepest_) return refuse();
        head(map, value.size());
        for (const auto& [key, element] : value.get_ref<const Json::object_t&>()) {
          text(key);
          json(element, depth + 1);
        }
        break;
      case Json::value_t::null: null(); break;
      default: refuse(); break;
    }
  }

 private:
  void refuse() {
    storable_ = false;
    null();
  }

  int deepest_;
  bool storable_ = true;
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

bool read_code(CborReader& reader, std::optional<int>& out) {
  std::int64_t value = 0;
  if (!reader.integer(value) || value < std::numeric_limits<int>::min() ||
      value > std::numeric_limits<int>::max()) {
    return false;
  }
  out = static_cast<int>(value);
  return true;
}

bool read_field(CborReader& reader, std::string_view key, Step& step) {
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
  // Checked before anything is built, so refused input costs no memory.
  if (!fits_in_memory(bytes)) return not_ours("a record body");
  CborReader reader(bytes);
  Json value;
  if (!reader.json(value, 0) || !reader.at_end()) return not_ours("a record body");
  return outcome::success(std::move(value));
}

bool fits_in_memory(std::string_view body) {
  // A body this small cannot decode to more than the limit.
  constexpr std::size_t harmless = most_decoded_bytes / 128;
  return body.size() <= harmless || CborReader(body).skip(0);
}

namespace {

// One of a step's JSON values: as a tree, or as bytes.
struct ValueField {
  std::string_view key;
  Json Step::*tree;
  std::string_view StepValues::*bytes;
  std::string_view name;
};
constexpr ValueField input_field{input_key, &Step::tool_input, &StepValues::tool_input,
                                 "a step's tool_input"};
constexpr ValueField output_field{output_key, &Step::tool_output, &StepValues::tool_output,
                                  "a step's tool_output"};
constexpr ValueField metadata_field{metadata_key, &Step::metadata, &StepValues::metadata,
                                    "a step's metadata"};

// `value(field)` writes a JSON value under its key and returns true, or nothing if it is null.
template <class Value>
void write_step(const Step& step, std::string& out, Writer& writer, Value value) {
  constexpr std::uint8_t most_fields = 13;
  static_assert(most_fields < 24);  // The head of a small map is one byte.
  const std::size_t head = out.size();
  std::uint8_t fields = 1;
  const auto text = [&](std::string_view key, const std::optional<std::string>& field) {
    if (!field) return;
    writer.text(key);
    writer.text(*field);
    ++fields;
  };
  const auto code = [&](std::string_view key, const std::optional<int>& field) {
    if (!field) return;
    writer.text(key);
    writer.integer(*field);
    ++fields;
  };
  out.push_back('\0');
  writer.text(action_key);
  writer.text(step.action);
  text(tool_key, step.tool_called);
  if (value(input_field)) ++fields;
  if (value(output_field)) ++fields;
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
    ++fields;
  }
  if (value(metadata_field)) ++fields;
  out[head] = static_cast<char>(map | fields);
}

bool write_tree(const Json& tree, std::string_view key, Writer& writer) {
  if (tree.is_null()) return false;
  writer.text(key);
  writer.json(tree);
  return true;
}

void write_step(const Step& step, std::string& out, Writer& writer) {
  write_step(step, out, writer, [&](const ValueField& field) {
    return write_tree(step.*field.tree, field.key, writer);
  });
}

// The value that `bytes` hold, under its key; nothing for null, as for a tree.
Result<bool> write_bytes(const ValueField& field, std::string_view bytes, StepValues::Format format,
                         Writer& writer, std::string& out) {
  const std::size_t begin = out.size();
  writer.text(field.key);
  const std::size_t value = out.size();
  TRIAGE_TRYV(format == StepValues::Format::json ? append_json_text(bytes, field.name, out)
                                                 : append_cbor(bytes, field.name, out));
  const bool null = out.size() == value + 1 && out.back() == cbor::null_byte;
  if (null) out.resize(begin);
  return outcome::success(!null);
}

constexpr std::size_t usual_step_bytes = 1'024;  // The result has exactly its size.

}  // namespace

void encode_step(const Step& step, std::string& out) {
  Writer writer(out);
  write_step(step, out, writer);
}

Record::Bytes encode_if_storable(const Step& step) {
  std::string buffer;
  buffer.reserve(usual_step_bytes);
  Writer writer(buffer, max_json_depth);
  write_step(step, buffer, writer);
  return writer.storable() ? std::make_shared<const std::string>(buffer) : nullptr;
}

Result<Record::Bytes> encode_step(const Step& step, const StepValues& values) {
  std::string buffer;
  buffer.reserve(usual_step_bytes);
  Writer writer(buffer, max_json_depth);
  std::optional<Error> problem;
  write_step(step, buffer, writer, [&](const ValueField& field) {
    const std::string_view bytes = values.*field.bytes;
    const Json& tree = step.*field.tree;
    if (bytes.empty()) return write_tree(tree, field.key, writer);
    if (!tree.is_null()) {
      problem = Error{Errc::invalid_argument, std::string(field.name) + " is given twice"};
      return false;
    }
    Result<bool> written = write_bytes(field, bytes, values.format, writer, buffer);
    if (!written) problem = std::move(written).error();
    return written && written.value();
  });
  if (problem) return *std::move(problem);
  if (!writer.storable()) {
    for (const ValueField& field : {input_field, output_field, metadata_field}) {
      TRIAGE_TRYV(check_json(step.*field.tree, field.name, NonFinite::allowed));
    }
  }
  if (!fits_in_memory(buffer)) {
    return Error{Errc::invalid_argument, "a step is too large to be read back"};
  }
  return outcome::success(std::make_shared<const std::string>(buffer));
}

bool has_error(std::string_view step) noexcept {
  CborReader reader(step);
  std::uint64_t fields = 0;
  if (!reader.head(map, fields)) return false;
  for (std::string_view key; fields > 0; --fields) {
    if (!reader.take_text(key)) return false;
    if (key == error_key) return true;
    if (!reader.skip(1)) return false;
  }
  return false;
}

Result<Step> decode_step(std::string_view bytes) {
  if (!fits_in_memory(bytes)) return not_ours("a step");
  CborReader reader(bytes);
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
