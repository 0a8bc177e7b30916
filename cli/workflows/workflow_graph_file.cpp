// SPDX-License-Identifier: MIT
// Reads a workflow file's executors and edges, including nested ones.
#include "documents/document_reader.hpp"
#include "placeholders.hpp"
#include "triage/detail/joined.hpp"
#include "workflow_file.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr int most_supersteps = 1'000'000;

const std::vector<std::pair<std::string, std::string>> answers{
    {"json", "json"}, {"text", "text"}, {"number", "number"}, {"boolean", "boolean"}};

class GraphReader {
 public:
  GraphReader(DocumentReader& reader, const std::vector<std::string>& agents, Json inputs)
      : reader_(reader), agents_(agents), inputs_(std::move(inputs)) {}

  FileGraph read(const Json& json, const std::string& path) {
    if (json.at("executors") == Json::array()) {
      reader_.problem(DocumentReader::below(path, "executors") +
                      " is []; allowed is a list of at least one executor");
    }
    FileGraph graph{.start = reader_.names(json, path, "start")};
    std::vector<std::string> ids;
    std::vector<std::string> places;
    reader_.each(json, path, "executors", [&](const Json& one, const std::string& place) {
      graph.executors.push_back(executor(one, place));
      ids.push_back(graph.executors.back().id);
      places.push_back(place);
    });
    check_ids(reader_, ids, places);
    const std::vector<std::string> known = known_ids(ids);
    check_ends(graph.start, DocumentReader::below(path, "start"), known);
    std::set<std::string> ends;
    reader_.each(json, path, "edges", [&](const Json& one, const std::string& place) {
      graph.edges.push_back(edge(one, place));
      const FileEdge& edge = graph.edges.back();
      check_once(edge, place, ends);
      check_ends(edge.from, place + ".from", known);
      check_ends(edge.to, place + ".to", known);
      if (edge.from == edge.to && edge.from.size() == 1 && !one.contains("when")) {
        reader_.problem(
            place + " leads from " + printable(edge.from.front()) +
            " to itself; allowed is that with a condition, \"when\", that ends the loop");
      }
    });
    return graph;
  }

 private:
  // Names that a key has, of executors.
  void check_ends(const std::vector<std::string>& names, const std::string& path,
                  const std::vector<std::string>& known) {
    std::set<std::string_view> before;
    for (const std::string& name : names) {
      if (!before.insert(name).second) {
        reader_.problem(path + " has \"" + printable(name) +
                        "\" twice; allowed is each executor once");
      } else if (!known.empty() && !std::binary_search(known.begin(), known.end(), name)) {
        reader_.problem(path + " is \"" + printable(name) + "\", which does not exist" +
                        DocumentReader::allowed_are(known));
      }
    }
  }

  // An agent works, a question is asked, or executors are nested.
  FileExecutor executor(const Json& json, const std::string& path) {
    const bool asks = json.contains("ask");
    const bool nests = json.contains("executors");
    if (asks && nests) {
      reader_.problem(path + " has both \"ask\" and \"executors\"; allowed is one of them");
    }
    FileExecutor one{.id = reader_.text(json, path, "id", true)};
    if (nests) {
      reader_.check_keys(json, path, {"id", "start", "executors", "edges"});
      one.inside = std::make_shared<FileGraph>(read(json, path));
    } else if (asks) {
      reader_.check_keys(json, path, {"id", "ask", "answer", "expires", "otherwise"});
      one.ask = reader_.text(json, path, "ask", true);
      check_placeholders(reader_, path + ".ask", one.ask, inputs_);
      one.answer = reader_.one_of(json, path, "answer", answers);
      one.expires = reader_.duration(json, path, "expires", Duration::zero());
      if (json.contains("otherwise")) one.otherwise = json.at("otherwise");
      if (one.otherwise && !json.contains("expires")) {
        reader_.problem(path + ".otherwise is " + DocumentReader::brief(*one.otherwise) +
                        "; allowed beside \"expires\"");
      }
      if (one.otherwise && !fits_answer(*one.otherwise, one.answer)) {
        reader_.problem(path + ".otherwise is " + DocumentReader::brief(*one.otherwise) +
                        "; allowed is what \"answer\" says: a " + one.answer);
      }
    } else {
      reader_.check_keys(json, path, {"id", "description", "agent"});
      one.description = reader_.text(json, path, "description", false);
      check_placeholders(reader_, path + ".description", one.description, inputs_);
      one.agent = agent(json, path);
    }
    return one;
  }

  std::string agent(const Json& json, const std::string& path) {
    std::string name = reader_.text(json, path, "agent", agents_.size() > 1);
    if (name.empty()) return agents_.size() == 1 ? agents_.front() : name;
    if (std::find(agents_.begin(), agents_.end(), name) == agents_.end()) {
      reader_.problem(path + ".agent is \"" + printable(name) + "\"" +
                      DocumentReader::allowed_are(agents_));
    }
    return name;
  }

  workflow::Join join(const Json& json, const std::string& path) {
    const Json join = json.value("join", Json("all"));
    if (join == "all") return workflow::Join::all();
    if (join == "any") return workflow::Join::any();
    if (join.is_number_integer() && join > 0) return workflow::Join::of(join.get<std::size_t>());
    reader_.problem(path + ".join is " + DocumentReader::brief(join) +
                    "; allowed are all, any, a number above 0");
    return {};
  }

  FileEdge edge(const Json& json, const std::string& path) {
    reader_.check_keys(json, path, {"from", "to", "when", "join", "select"});
    FileEdge edge{.from = reader_.names(json, path, "from"),
                  .to = reader_.names(json, path, "to"),
                  .when = json.value("when", Json()),
                  .join = join(json, path),
                  .select = reader_.text(json, path, "select", false)};
    if (json.value("select", Json()) == "") {
      reader_.problem(path + ".select is \"\"; allowed is the name of a member of the message");
    }
    if (edge.from.size() > 1 && edge.to.size() > 1) {
      reader_.problem(path + " leads from several to several; allowed is one of both");
    }
    if (json.contains("when") && edge.when.is_null()) {
      reader_.problem(path + ".when is null; allowed is any other value, or leave it out");
    }
    if (!edge.when.is_null() && edge.from.size() + edge.to.size() > 2) {
      reader_.problem(path + ".when is " + DocumentReader::brief(edge.when) +
                      "; allowed from one executor to one");
    }
    if (json.contains("join") && edge.from.size() < 2) {
      reader_.problem(path + ".join is " + DocumentReader::brief(json["join"]) +
                      "; allowed from several executors");
    } else if (edge.join.kind == workflow::Join::Kind::count &&
               edge.join.count > edge.from.size()) {
      reader_.problem(path + ".join is " + DocumentReader::brief(json["join"]) +
                      "; allowed are all, any, 1 to " + std::to_string(edge.from.size()));
    }
    if (json.contains("select") && (edge.from.size() != 1 || edge.to.size() < 2)) {
      reader_.problem(path + ".select is " + DocumentReader::brief(json["select"]) +
                      "; allowed from one executor to several");
    }
    return edge;
  }

  // Of edges without a condition: those with one may be equal.
  void check_once(const FileEdge& edge, const std::string& path, std::set<std::string>& known) {
    if (!edge.when.is_null() || edge.from.empty() || edge.to.empty()) return;
    const std::string ends = detail::joined(edge.from) + " to " + detail::joined(edge.to);
    if (!known.insert(ends).second) {
      reader_.problem(path + " leads from " + printable(ends) + " a second time; allowed is once");
    }
  }

  DocumentReader& reader_;
  const std::vector<std::string>& agents_;
  Json inputs_;
};

}  // namespace

bool fits_answer(const Json& value, std::string_view type) {
  if (type == "text") return value.is_string();
  if (type == "number") return value.is_number();
  return type != "boolean" || value.is_boolean();
}

FileGraph read_graph(DocumentReader& reader, const Json& document,
                     const std::vector<std::string>& agents) {
  FileGraph graph =
      GraphReader(reader, agents, document.value("inputs", Json::object())).read(document, "");
  graph.max_supersteps = reader.number(document, "", "max_supersteps", 1, most_supersteps, 100);
  return graph;
}

}  // namespace triage::inline v0_1::cli
