// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

namespace crawl {

using Json = nlohmann::json;

void Oracle::read_plan(HttpClient& http, const std::string& site) {
  const Json plan = Json::parse(http.get(site + "/_oracle").body);
  next_ = plan.at("next");
  for (const Json& fault : plan.at("faults")) {
    plan_[fault.at("request")] = {fault.at("kind"), fault.at("milliseconds")};
  }
  known_ = true;
}

void Oracle::read_names(HttpClient& http, const std::string& site) {
  const Json answer = Json::parse(http.get(site + "/_oracle").body);
  names_ = answer.at("tools").get<std::vector<std::string>>();
}

void Oracle::clear_the_way(HttpClient& http, const std::string& site) {
  if (!known_) read_plan(http, site);
  for (auto fault = plan_.find(next_); fault != plan_.end(); fault = plan_.find(next_)) {
    static_cast<void>(http.get(site + "/tools/_ping"));
    ++next_;
    std::this_thread::sleep_for(std::chrono::milliseconds(fault->second.milliseconds));
    if (fault->second.kind == "renamed") read_names(http, site);
  }
  ++next_;  // The request that the caller is about to make.
}

std::string Oracle::current_name(const std::string& tool) const {
  const std::string purpose = tool.substr(0, tool.find("_v"));
  for (const std::string& name : names_) {
    if (name.compare(0, purpose.size(), purpose) == 0) return name;
  }
  return tool;
}

}  // namespace crawl
