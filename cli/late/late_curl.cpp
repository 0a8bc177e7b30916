// SPDX-License-Identifier: MIT
// Stands for libcurl where the command calls it: those functions that triage::llm needs.
#include "late/late_library.hpp"

#include <curl/curl.h>

#include <cstdarg>

#undef curl_easy_getinfo
#undef curl_easy_setopt

namespace {

constexpr triage::cli::LateLibrary curl{TRIAGE_CURL_FILE};

// A long, a curl_off_t or a pointer: all are passed on alike.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));

}  // namespace

CURLcode curl_global_init(long flags) { return TRIAGE_CALL_LATE(curl, curl_global_init, flags); }
CURL* curl_easy_init() { return TRIAGE_CALL_LATE(curl, curl_easy_init); }
void curl_easy_cleanup(CURL* easy) { TRIAGE_CALL_LATE(curl, curl_easy_cleanup, easy); }
const char* curl_easy_strerror(CURLcode code) {
  return TRIAGE_CALL_LATE(curl, curl_easy_strerror, code);
}
CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  va_list rest;
  va_start(rest, option);
  void* const value = va_arg(rest, void*);
  va_end(rest);
  return TRIAGE_CALL_LATE(curl, curl_easy_setopt, easy, option, value);
}
CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
  va_list rest;
  va_start(rest, info);
  void* const target = va_arg(rest, void*);
  va_end(rest);
  return TRIAGE_CALL_LATE(curl, curl_easy_getinfo, easy, info, target);
}
CURLM* curl_multi_init() { return TRIAGE_CALL_LATE(curl, curl_multi_init); }
CURLMcode curl_multi_cleanup(CURLM* multi) {
  return TRIAGE_CALL_LATE(curl, curl_multi_cleanup, multi);
}
CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  return TRIAGE_CALL_LATE(curl, curl_multi_add_handle, multi, easy);
}
CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  return TRIAGE_CALL_LATE(curl, curl_multi_remove_handle, multi, easy);
}
CURLMcode curl_multi_perform(CURLM* multi, int* running) {
  return TRIAGE_CALL_LATE(curl, curl_multi_perform, multi, running);
}
CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd* others, unsigned number, int longest_ms,
                          int* ready) {
  return TRIAGE_CALL_LATE(curl, curl_multi_poll, multi, others, number, longest_ms, ready);
}
CURLMcode curl_multi_wakeup(CURLM* multi) {
  return TRIAGE_CALL_LATE(curl, curl_multi_wakeup, multi);
}
CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  return TRIAGE_CALL_LATE(curl, curl_multi_info_read, multi, left);
}
curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  return TRIAGE_CALL_LATE(curl, curl_slist_append, list, text);
}
void curl_slist_free_all(curl_slist* list) { TRIAGE_CALL_LATE(curl, curl_slist_free_all, list); }
