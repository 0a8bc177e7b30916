// SPDX-License-Identifier: MIT
#include "http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// CURL and CURLM are both void, so each needs its own deleter type.
struct EasyCloser {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiCloser {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListCloser {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Target {
  std::string body{};
  std::size_t most = 0;
  bool too_long = false;
  std::vector<std::pair<std::string, std::string>> headers{};
};

std::size_t take_body(char* data, std::size_t, std::size_t size, void* argument) {
  auto& target = *static_cast<Target*>(argument);
  if (size > target.most - target.body.size()) {
    target.too_long = true;
    return 0;  // libcurl ends the transfer.
  }
  try {
    target.body.append(data, size);
  } catch (const std::exception&) {  // No exception may pass through C code.
    target.too_long = true;
    return 0;
  }
  return size;
}

bool says_when(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.starts_with("retry-after") || name.find("ratelimit") != std::string::npos ||
         name.find("rate-limit") != std::string::npos;
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* argument) {
  constexpr std::size_t most_headers = 64;
  auto& headers = static_cast<Target*>(argument)->headers;
  try {
    std::string_view line(data, size);
    if (line.starts_with("HTTP/")) headers.clear();  // Of an answer such as "100 Continue".
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || headers.size() == most_headers) return size;
    std::string name(line.substr(0, colon));
    if (!says_when(name)) return size;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", colon + 1), size));
    line = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    headers.emplace_back(std::move(name), line);
  } catch (const std::exception&) {  // No exception may pass through C code.
    return size;
  }
  return size;
}

using Headers = std::unique_ptr<curl_slist, ListCloser>;

bool add(Headers& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return false;
  static_cast<void>(list.release());
  list.reset(longer);
  return true;
}

std::string_view host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  if (url.substr(0, 1) == "[") return url.substr(1, url.find(']') - 1);
  return url.substr(0, url.find_first_of(":/?#"));
}

bool stopped(const HttpPost& request) {
  return std::any_of(request.stops.begin(), request.stops.end(),
                     [](const std::stop_token& stop) { return stop.stop_requested(); });
}

// Runs until the transfer ends or a stop is requested; then the code is ABORTED.
CURLcode perform(CURLM* multi, const HttpPost& request) {
  // curl_multi_wakeup may be called from any thread.
  const auto wake = [multi] { curl_multi_wakeup(multi); };
  const std::stop_callback first(request.stops[0], wake);
  const std::stop_callback second(request.stops[1], wake);
  constexpr int longest_poll_milliseconds = 1000;
  for (int running = 1;;) {
    if (stopped(request)) return CURLE_ABORTED_BY_CALLBACK;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    if (running == 0) break;
    const CURLMcode polled = curl_multi_poll(multi, nullptr, 0, longest_poll_milliseconds, nullptr);
    if (polled != CURLM_OK) return CURLE_FAILED_INIT;
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi, &left);
  return message != nullptr && message->msg == CURLMSG_DONE ? message->data.result
                                                            : CURLE_FAILED_INIT;
}

long milliseconds(Duration duration) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<long>(std::max<std::chrono::milliseconds::rep>(whole, 1));
}

void set_up(CURL* easy, const HttpPost& request, curl_slist* headers, Target& target) {
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);  // The key must not reach another host.
  if (is_this_machine(request.url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(request.timeout));
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &target);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &target);
}

std::string problem_of(CURLcode code, const HttpPost& request, const Target& target) {
  if (target.too_long) {
    return "the answer is longer than " + std::to_string(target.most) + " bytes";
  }
  switch (code) {
    case CURLE_OK: return {};
    case CURLE_ABORTED_BY_CALLBACK: return "it was cancelled";
    case CURLE_OPERATION_TIMEDOUT:
      return "no answer within " + std::to_string(milliseconds(request.timeout)) + " ms";
    // libcurl's own texts for codes contain no addresses, headers or other parts of the request.
    default: return curl_easy_strerror(code);
  }
}

bool never_arrived(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_URL_MALFORMAT ||
         code == CURLE_FAILED_INIT;
}

}  // namespace

Result<void> init_http() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done == CURLE_OK) return outcome::success();
  return Error{Errc::io, std::string("libcurl: ") + curl_easy_strerror(done)};
}

bool is_this_machine(std::string_view url) {
  const std::string_view host = host_of(url);
  if (host == "localhost" || host == "::1") return true;
  // Digits and dots only: 127.evil.example is another host.
  return host.substr(0, 4) == "127." &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

HttpAnswer post(const HttpPost& request) {
  HttpAnswer answer;
  if (stopped(request)) {
    answer.problem = "it was cancelled";
    return answer;
  }
  const std::unique_ptr<CURL, EasyCloser> easy(curl_easy_init());
  const std::unique_ptr<CURLM, MultiCloser> multi(curl_multi_init());
  Headers headers;
  bool ready = easy != nullptr && multi != nullptr && add(headers, "Expect:");
  for (const std::string& header : request.headers) ready = ready && add(headers, header);
  Target target{.most = request.max_response_bytes};
  if (ready) set_up(easy.get(), request, headers.get(), target);
  if (!ready || curl_multi_add_handle(multi.get(), easy.get()) != CURLM_OK) {
    answer.problem = "libcurl could not be set up";
    return answer;
  }
  const CURLcode code = perform(multi.get(), request);
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_multi_remove_handle(multi.get(), easy.get());
  answer.status = static_cast<int>(status);
  answer.problem = problem_of(code, request, target);
  answer.maybe_served = !never_arrived(code);
  answer.body = std::move(target.body);
  answer.headers = std::move(target.headers);
  return answer;
}

}  // namespace triage::inline v0_1::detail
