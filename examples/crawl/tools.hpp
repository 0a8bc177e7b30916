// SPDX-License-Identifier: MIT
#pragma once
// The tools that a site offers, as the agent uses them: every call is recorded as a step, and what
// goes wrong becomes a failure with all the evidence there is.

#include "http_client.hpp"
#include "oracle.hpp"
#include "triage/attempt.hpp"

#include <string>
#include <vector>

namespace crawl {

// One attempt's way to the tools. Every call returns the tool's output, or the error to return from
// the callable.
class Tools {
 public:
  // oracle: null, or who knows in advance which requests will fail.
  Tools(HttpClient& http, std::string site, triage::Attempt& attempt, Oracle* oracle);

  // Asks the site which tools there are, and keeps the answer in the agent's state.
  triage::Result<void> read_manifest();
  // Uses the manifest that is in the agent's state; false if there is none.
  bool restore_manifest();

  triage::Result<std::string> fetch(const std::string& url);
  triage::Result<std::vector<std::string>> extract_links(const std::string& url,
                                                         const std::string& html);
  triage::Result<int> count_words(const std::string& url, const std::string& html);

 private:
  void declare(const std::vector<std::string>& names);
  [[nodiscard]] std::string name_of(const std::string& purpose) const;
  Response send(const std::string& tool, const triage::Json& input);
  triage::Result<triage::Json> call_json(const std::string& purpose, const std::string& url,
                                         const std::string& html);
  triage::Error failed(triage::Step step, const Response& response);

  HttpClient& http_;
  std::string site_;
  triage::Attempt& attempt_;
  Oracle* oracle_;
  std::vector<std::string> names_{};
};

}  // namespace crawl
