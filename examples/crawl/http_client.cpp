// SPDX-License-Identifier: MIT
#include "http_client.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace crawl {
namespace {

constexpr std::size_t longest_body = 16U << 20U;

std::size_t take_body(char* data, std::size_t, std::size_t size, void* target) {
  auto& body = static_cast<Response*>(target)->body;
  if (body.size() + size > longest_body) return 0;  // libcurl reports this as an error.
  body.append(data, size);
  return size;
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* target) {
  const std::string_view line(data, size);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front())) != 0) {
    value.remove_prefix(1);
  }
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0) {
    value.remove_suffix(1);
  }
  static_cast<Response*>(target)->headers.emplace_back(std::move(name), std::string(value));
  return size;
}

// A code says what went wrong in every language and version; a text does not.
std::error_code code_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return std::make_error_code(std::errc::host_unreachable);
    case CURLE_COULDNT_CONNECT: return std::make_error_code(std::errc::connection_refused);
    case CURLE_OPERATION_TIMEDOUT: return std::make_error_code(std::errc::timed_out);
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return std::make_error_code(std::errc::connection_reset);
    default: return {};
  }
}

}  // namespace

struct HttpClient::Handle {
  CURL* curl = curl_easy_init();
  curl_slist* headers = nullptr;

  Handle() {
    if (curl == nullptr) throw std::runtime_error("libcurl could not be initialised");
  }
  ~Handle() {
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
};

HttpClient::HttpClient(Connections connections)
    : connections_(connections), handle_(std::make_unique<Handle>()) {}
HttpClient::~HttpClient() = default;

Response HttpClient::get(const std::string& url) { return send(url, nullptr, {}); }
Response HttpClient::post_json(const std::string& url, const std::string& body,
                               const PostOptions& options) {
  curl_slist_free_all(handle_->headers);
  handle_->headers = nullptr;
  for (const char* header : {"Content-Type: application/json", "Expect:"}) {
    handle_->headers = curl_slist_append(handle_->headers, header);
  }
  for (const std::string& header : options.headers) {
    handle_->headers = curl_slist_append(handle_->headers, header.c_str());
  }
  return send(url, &body, options);
}

Response HttpClient::send(const std::string& url, const std::string* body,
                          const PostOptions& options) {
  Response response;
  CURL* curl = handle_->curl;
  curl_easy_reset(curl);  // Keeps the connection.
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  if (connections_ == Connections::fresh) {
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
  }
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);
  if (body != nullptr) {
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handle_->headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
  }
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    response.error = *detail != '\0' ? detail : curl_easy_strerror(code);
    response.code = code_of(code);
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  return response;
}

}  // namespace crawl
