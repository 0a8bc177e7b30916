// SPDX-License-Identifier: MIT
#pragma once
// A small HTTP client over libcurl, without exceptions.

#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace crawl {

struct Response {
  int status = 0;  // 0 if no answer came.
  std::string body{};
  std::string error{};     // What libcurl said; empty if the whole answer came.
  std::error_code code{};  // The same as a code, where there is one that fits.
  std::vector<std::pair<std::string, std::string>> headers{};  // Names in lower case.

  [[nodiscard]] bool ok() const noexcept { return error.empty() && status >= 200 && status < 300; }
};

struct PostOptions {
  std::vector<std::string> headers{};  // "Name: value", beside the usual ones.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
};

// Thread-safety: one thread at a time.
class HttpClient {
 public:
  // kept: one connection for many requests. When the server closes it without a word, libcurl sends
  // the request again by itself; fresh: it never does, as is right where a request must not be
  // doubled.
  enum class Connections { kept, fresh };

  explicit HttpClient(Connections connections = Connections::kept);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  Response get(const std::string& url);
  Response post_json(const std::string& url, const std::string& body,
                     const PostOptions& options = {});

 private:
  Response send(const std::string& url, const std::string* body, const PostOptions& options);

  const Connections connections_;
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace crawl
