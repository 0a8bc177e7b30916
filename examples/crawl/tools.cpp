// SPDX-License-Identifier: MIT
#include "tools.hpp"

#include <utility>

namespace crawl {

using triage::Json;
using triage::Result;
using triage::Step;

Tools::Tools(HttpClient& http, std::string site, triage::Attempt& attempt, Oracle* oracle)
    : http_(http), site_(std::move(site)), attempt_(attempt), oracle_(oracle) {}

// What the agent says it will call: a call of anything else is seen without reading any text.
void Tools::declare(const std::vector<std::string>& names) {
  names_ = names;
  triage::AgentContract contract;
  for (const std::string& name : names_) contract.tools.push_back({.name = name});
  contract.tools.push_back({.name = "read_manifest"});
  contract.tools.push_back({.name = "save"});
  attempt_.set_contract(std::move(contract));
}

bool Tools::restore_manifest() {
  const auto names = attempt_.state().value("tools", std::vector<std::string>());
  if (names.empty()) return false;
  declare(names);
  return true;
}

Result<void> Tools::read_manifest() {
  if (oracle_ != nullptr) oracle_->clear_the_way(http_, site_);
  const Response response = http_.get(site_ + "/tools");
  Step step{.action = "read the tool manifest",
            .tool_called = "read_manifest",
            .tool_input = {{"url", "/tools"}},
            .idempotent = true};
  if (!response.ok()) return failed(std::move(step), response);
  const Json answer = Json::parse(response.body);  // What it throws is classified like the rest.
  std::vector<std::string> names;
  for (const Json& tool : answer.at("tools")) names.push_back(tool.at("name"));
  step.http_status = response.status;
  step.tool_output = names;
  attempt_.record_step(std::move(step));
  attempt_.update_state({{"tools", names}});
  declare(names);
  return triage::outcome::success();
}

// The tool for a purpose: the site may call its "fetch" "fetch_v2".
std::string Tools::name_of(const std::string& purpose) const {
  for (const std::string& name : names_) {
    if (name.compare(0, purpose.size(), purpose) == 0) return name;
  }
  return purpose;
}

Response Tools::send(const std::string& tool, const Json& input) {
  std::string name = tool;
  if (oracle_ != nullptr) {
    oracle_->clear_the_way(http_, site_);
    name = oracle_->current_name(tool);
  }
  return http_.post_json(site_ + "/tools/" + name, triage::show(input));
}

Result<std::string> Tools::fetch(const std::string& url) {
  const std::string tool = name_of("fetch");
  Response response = send(tool, {{"url", url}});
  Step step{.action = "fetch " + url,
            .tool_called = tool,
            .tool_input = {{"url", url}},
            .idempotent = true};
  if (!response.ok()) return failed(std::move(step), response);
  step.http_status = response.status;
  step.tool_output = {{"bytes", response.body.size()}};
  attempt_.record_step(std::move(step));
  return triage::outcome::success(std::move(response.body));
}

Result<Json> Tools::call_json(const std::string& purpose, const std::string& url,
                              const std::string& html) {
  const std::string tool = name_of(purpose);
  const Response response = send(tool, {{"url", url}, {"html", html}});
  Step step{.action = purpose + " " + url,
            .tool_called = tool,
            .tool_input = {{"url", url}, {"bytes", html.size()}},
            .idempotent = true};
  if (!response.ok()) return failed(std::move(step), response);
  step.http_status = response.status;
  Json output;
  try {
    output = Json::parse(response.body);
  } catch (const Json::parse_error& error) {
    step.error = error.what();
    step.exception_type = "nlohmann::json::parse_error";
    attempt_.record_step(std::move(step));
    throw;  // An exception is as good a report as attempt.fail().
  }
  step.tool_output = output;
  attempt_.record_step(std::move(step));
  return triage::outcome::success(std::move(output));
}

Result<std::vector<std::string>> Tools::extract_links(const std::string& url,
                                                      const std::string& html) {
  auto output = call_json("extract_links", url, html);
  if (!output) return triage::outcome::failure(std::move(output).error());
  return triage::outcome::success(output.value().at("links").get<std::vector<std::string>>());
}

Result<int> Tools::count_words(const std::string& url, const std::string& html) {
  auto output = call_json("count_words", url, html);
  if (!output) return triage::outcome::failure(std::move(output).error());
  return triage::outcome::success(output.value().at("words").get<int>());
}

triage::Error Tools::failed(Step step, const Response& response) {
  triage::Failure failure{
      .text = response.error, .code = response.code, .headers = response.headers};
  if (response.error.empty()) {
    failure.text = "HTTP " + std::to_string(response.status) + ": " + response.body.substr(0, 500);
  }
  if (response.status != 0 && response.error.empty()) failure.http_status = response.status;
  step.error = failure.text;
  step.http_status = failure.http_status;
  attempt_.record_step(std::move(step));
  return attempt_.fail(std::move(failure));
}

}  // namespace crawl
