// SPDX-License-Identifier: MIT
#include "tools.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

namespace tool_loop {
namespace {

namespace fs = std::filesystem;
using triage::Attempt;
using triage::Json;
using triage::Result;

constexpr std::size_t most_bytes_read = 64U << 10U;
constexpr std::size_t longest_title = 100;

Result<Json> output(Json json) { return triage::outcome::success(std::move(json)); }
Result<Json> problem(std::string text) { return output({{"error", std::move(text)}}); }

// The file that a name from the model means; empty if it lies outside of the folder.
fs::path inside(const fs::path& folder, const std::string& name) {
  const fs::path root = fs::weakly_canonical(folder);
  fs::path path = fs::weakly_canonical(root / name);
  const auto [end, at] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  static_cast<void>(at);
  return end == root.end() ? path : fs::path{};
}

Result<Json> list_folder(const fs::path& folder, const Json& arguments) {
  std::error_code failed;
  std::vector<std::string> names;
  const fs::path path = inside(folder, arguments.at("path"));
  for (const auto& entry : fs::directory_iterator(path, failed)) {
    names.push_back(entry.path().filename().string() + (entry.is_directory() ? "/" : ""));
  }
  if (failed) return problem("there is no such folder");
  std::sort(names.begin(), names.end());
  return output(std::move(names));
}

Result<Json> read_file(const fs::path& folder, const Json& arguments) {
  std::ifstream file(inside(folder, arguments.at("path")), std::ios::binary);
  std::string text(most_bytes_read, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() == 0 && !file.eof()) return problem("there is no such file");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return output({{"text", std::move(text)}});
}

Result<Json> count_words(const Json& arguments) {
  std::istringstream words(arguments.at("text").get<std::string>());
  return output({{"words", std::distance(std::istream_iterator<std::string>(words), {})}});
}

Result<Json> calculate(const Json& arguments) {
  const auto a = arguments.at("a").get<double>();
  const auto b = arguments.at("b").get<double>();
  const std::string op = arguments.at("operator");
  if (op == "+") return output({{"result", a + b}});
  if (op == "-") return output({{"result", a - b}});
  if (op == "*") return output({{"result", a * b}});
  if (op == "/" && b != 0) return output({{"result", a / b}});
  return problem("operator is one of + - * /, and nothing is divided by 0");
}

bool holds(const fs::path& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

// All of it or nothing, and never over a file that is there: whether it happened can be seen
// afterwards.
std::string write_note(const fs::path& path, const std::string& text) {
  const fs::path unfinished = path.string() + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw triage::EffectNotDone("the note cannot be written to " + unfinished.string());
  std::error_code taken;
  fs::create_hard_link(unfinished, path, taken);  // Unlike rename(), it replaces nothing.
  fs::remove(unfinished);
  if (taken && !holds(path, text)) {
    throw triage::EffectNotDone(path.string() + ": " + taken.message());
  }
  return path.filename().string();
}

// A side effect: it happens once a run, however often attempts are rolled back and however often
// the model asks for it. The key is what makes two calls the same; the id that the model gives a
// call does not, for a model that is asked again gives another one.
Result<Json> save_note(const fs::path& folder, const Json& arguments, Attempt& attempt) {
  const std::string title = arguments.at("title");
  const bool plain = std::all_of(title.begin(), title.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  if (title.empty() || title.size() > longest_title || !plain) {
    return problem("a title has 1 to 100 letters, digits, - and _");
  }
  const fs::path path = folder / (title + ".md");
  const std::string text = arguments.at("text");
  if (fs::exists(path) && !holds(path, text)) {
    return problem("there is a note with this title and another text");
  }
  const auto look = [path, text] {
    return holds(path, text) ? triage::Reconciled::done(path.filename().string())
                             : triage::Reconciled::not_done();
  };
  auto saved = attempt.try_effect("save_note:" + title, arguments,
                                  [&] { return write_note(path, text); }, {.reconcile = look});
  if (saved) return output({{"saved", saved.value()}});
  if (saved.error().code == triage::Errc::conflict) {
    return problem("there is a note with this title and another text");
  }
  return std::move(saved).error();
}

// The schema of an object with these members, each of this type, all of them required.
triage::JsonSchema takes(const std::map<std::string, std::string>& types) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& [name, type] : types) {
    properties[name] = {{"type", type}};
    required.push_back(name);
  }
  return Json{{"type", "object"}, {"properties", properties}, {"required", required}};
}

}  // namespace

std::vector<Tool> make_tools(const fs::path& folder) {
  return {{{.name = "list_folder",
            .description = "Names of the files in a folder; \".\" is the top.",
            .input_schema = takes({{"path", "string"}})},
           [folder](const Json& in, Attempt&) { return list_folder(folder, in); }},
          {{.name = "read_file",
            .description = "The beginning of a file, at most 64 KB.",
            .input_schema = takes({{"path", "string"}})},
           [folder](const Json& in, Attempt&) { return read_file(folder, in); }},
          {{.name = "count_words",
            .description = "How many words a text has.",
            .input_schema = takes({{"text", "string"}})},
           [](const Json& in, Attempt&) { return count_words(in); }},
          {{.name = "calculate",
            .description = "a operator b, with one of + - * /.",
            .input_schema = takes({{"a", "number"}, {"operator", "string"}, {"b", "number"}})},
           [](const Json& in, Attempt&) { return calculate(in); }},
          {{.name = "save_note",
            .description = "Saves a text for people to read. A title can be used once.",
            .input_schema = takes({{"title", "string"}, {"text", "string"}})},
           [folder](const Json& in, Attempt& attempt) { return save_note(folder, in, attempt); }}};
}

Json describe(const std::vector<Tool>& tools) {
  Json all = Json::array();
  for (const Tool& tool : tools) {
    all.push_back({{"type", "function"},
                   {"function",
                    {{"name", tool.promise.name},
                     {"description", tool.promise.description},
                     {"parameters", tool.promise.input_schema.json()}}}});
  }
  return all;
}

triage::AgentContract contract(const std::vector<Tool>& tools) {
  triage::AgentContract promise;
  for (const Tool& tool : tools) promise.tools.push_back(tool.promise);
  return promise;
}

}  // namespace tool_loop
