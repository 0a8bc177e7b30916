// SPDX-License-Identifier: MIT
#include "office.hpp"

namespace triage::evaluation {
namespace {

constexpr std::array<Office, 6> offices{{
    {{"web_search", "open_page", "summarize", "write_file", "compile_report"},
     {"query", "url", "page", "summary", "files"},
     {"https://news.example/", "page-", "sum-", "/work/notes/"},
     "hits",
     "post_status",
     "find_duplicates",
     "open_cached_page",
     "tidal energy"},
    {{"search_orders", "load_order", "price_order", "create_invoice", "send_batch"},
     {"customer", "order_id", "order", "priced", "invoices"},
     {"ord_", "order/", "quote_", "inv_"},
     "orders",
     "crm_log",
     "list_open_disputes",
     "load_order_replica",
     "monthly invoices"},
    {{"grep", "read_file", "rewrite", "apply_patch", "open_pull_request"},
     {"pattern", "path", "source", "patch", "patches"},
     {"src/module_", "blob-", "patch-", "commit-"},
     "matches",
     "update_ticket",
     "lint",
     "git_show",
     "the deprecated calls"},
    {{"find_flights", "hold_seat", "fare_quote", "book", "email_itinerary"},
     {"route", "flight", "hold", "quote", "bookings"},
     {"FL", "HLD-", "FQ-", "PNR"},
     "flights",
     "ping_dashboard",
     "visa_warnings",
     "hold_seat_agent",
     "the trip to Oslo"},
    {{"list_hosts", "collect_metrics", "aggregate", "store_series", "publish_dashboard"},
     {"group", "host", "samples", "series", "panels"},
     {"node-", "metrics-", "agg-", "ts-"},
     "hosts",
     "annotate",
     "active_alerts",
     "collect_metrics_snmp",
     "the capacity review"},
    {{"query_table", "export_rows", "clean", "load_stage", "refresh_model"},
     {"sql", "result", "extract", "cleaned", "tables"},
     {"res_", "extract_", "clean_", "stage."},
     "results",
     "lineage_event",
     "failed_checks",
     "export_rows_slow",
     "the sales mart"},
}};

}  // namespace

const Office& some_office(Dice& dice) { return dice.one_of(offices); }

std::string plain_error(Dice& dice, const std::string& thing) {
  switch (dice.below(8)) {
    case 0: return "PermissionError: [Errno 13] Permission denied: '" + thing + "'";
    case 1: return "OSError: [Errno 28] No space left on device";
    case 2: return "409 Conflict: " + thing + " is locked by another session";
    case 3: return "Error: could not acquire the lock on " + thing;
    case 4: return "psycopg2.errors.SerializationFailure: could not serialize access";
    case 5: return "java.io.IOException: Broken pipe";
    case 6: return "validation failed: the value of 'mode' is not one of [fast, full]";
    default: return "rpc error: code = FailedPrecondition desc = " + thing + " is not ready";
  }
}

std::string distant_error(Dice& dice) {
  switch (dice.below(7)) {
    case 0: return "HTTP 503 Service Unavailable";
    case 1: return "HTTP 502 Bad Gateway";
    case 2: return "requests.exceptions.ConnectionError: Connection reset by peer";
    case 3: return "context deadline exceeded";
    case 4: return "429 Too Many Requests";
    case 5: return "Error: connect ECONNREFUSED 10.0.4.7:443";
    default: return "upstream connect error or disconnect/reset before headers";
  }
}

std::string missing_error(Dice& dice, const std::string& thing) {
  switch (dice.below(8)) {
    case 0: return "FileNotFoundError: [Errno 2] No such file or directory: '" + thing + "'";
    case 1: return "404 Not Found: " + thing;
    case 2: return "KeyError: '" + thing + "'";
    case 3: return "Error: ENOENT: no such file or directory, open '" + thing + "'";
    case 4: return "record \"" + thing + "\" does not exist";
    case 5: return "unknown reference " + thing + " in position 2";
    case 6: return "javax.persistence.EntityNotFoundException: Unable to find " + thing;
    default: return "rpc error: code = NotFound desc = nothing under " + thing;
  }
}

std::string shape_error(Dice& dice) {
  switch (dice.below(9)) {
    case 0: return "TypeError: 'NoneType' object is not subscriptable";
    case 1: return "TypeError: Cannot read properties of undefined (reading 'id')";
    case 2: return "IndexError: list index out of range";
    case 3: return "java.lang.NullPointerException";
    case 4: return "panic: runtime error: invalid memory address or nil pointer dereference";
    case 5: return "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)";
    case 6: return "ValueError: cannot convert float NaN to integer";
    case 7: return "400 Bad Request: a required field is missing";
    default: return "undefined method `fetch' for nil:NilClass";
  }
}

std::string thought(Dice& dice, const std::string& subject) {
  switch (dice.below(6)) {
    case 0: return "Next I look at the following item for " + subject + ".";
    case 1: return "That worked. I go on.";
    case 2: return "Let me check what is still missing for " + subject + ".";
    case 3: return "I have enough for this one.";
    case 4: return "There was a problem, but I can continue with the rest.";
    default: return "Plan: finish the open items, then put " + subject + " together.";
  }
}

std::string overflow_error(Dice& dice) {
  return dice.one_of(std::array<const char*, 4>{
      "This model's maximum context length is 128000 tokens, however you requested 201344",
      "prompt is too long: 214501 tokens > 200000 maximum",
      "Requested tokens (9120) exceed context window of 8192",
      "input length and max_tokens exceed context limit"});
}

std::string text(Dice& dice, std::size_t words) {
  constexpr std::array<const char*, 12> vocabulary{
      "the", "unit", "moved", "in", "north", "rate", "of", "and", "small", "group", "weekly", "by"};
  std::string all;
  for (std::size_t i = 0; i < words; ++i) all += std::string(dice.one_of(vocabulary)) + " ";
  return all;
}

Json error_answer(Dice& dice, const std::string& error) {
  switch (dice.below(3)) {
    case 0: return {{"error", error}};
    case 1: return {{"ok", false}, {"message", error}};
    default: return "Error: " + error;
  }
}

Json odd_answer(Dice& dice, const Office& office, std::size_t stage) {
  const char* key = office.input_keys[stage + 1];
  switch (dice.below(4)) {
    case 0: return "<html><head><title>Sign in</title></head><body></body></html>";
    case 1: return {{key, nullptr}, {"size", 0}, {"note", ""}};
    case 2: return {{"size", dice.between(200, 9000)}, {"note", text(dice, 9)}};
    default: return Json::array({Json{{"value", dice.between(1, 99)}}});
  }
}

Json empty_answer(Dice& dice, const Office& office, std::size_t stage) {
  if (stage == get) return {{office.input_keys[make], nullptr}, {"size", 0}, {"note", ""}};
  switch (dice.below(4)) {
    case 0: return Json::array();
    case 1: return "";
    default: return {{office.list_key, Json::array()}, {"total", 0}};
  }
}

}  // namespace triage::evaluation
