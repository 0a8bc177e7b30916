// SPDX-License-Identifier: MIT
#include "triage/stores/open_store.hpp"

#include "base/percent.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#ifdef TRIAGE_HAS_POSTGRES
#include "triage/stores/postgres.hpp"
#endif
#ifdef TRIAGE_HAS_REDIS
#include "triage/stores/redis.hpp"
#endif
#ifdef TRIAGE_HAS_SQLITE
#include "triage/stores/sqlite.hpp"
#endif

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>

namespace triage::inline v0_1 {
namespace {

using Opened = Result<std::shared_ptr<CheckpointStore>>;

template <class Store>
Opened as_store(Result<std::shared_ptr<Store>> opened) {
  if (!opened) return std::move(opened).error();
  return outcome::success(std::shared_ptr<CheckpointStore>(std::move(opened).value()));
}

Opened open_memory(const std::string&, const OpenStoreOptions& options) {
  if (options.read_only) {
    return Error{Errc::invalid_argument,
                 "a memory store ends with its process, so there is nothing to look at"};
  }
  return outcome::success(std::shared_ptr<CheckpointStore>(MemoryStore::create()));
}

Opened open_json_file(const std::string& path, const OpenStoreOptions& options) {
  JsonFileOptions own{.read_only = options.read_only};
  if (options.durability) own.durability = *options.durability;
  return as_store(JsonFileStore::open(path, own));
}

#ifdef TRIAGE_HAS_SQLITE
Opened open_sqlite(const std::string& path, const OpenStoreOptions& options) {
  if (path == ":memory:" && options.read_only) return open_memory(path, options);
  return as_store(
      SqliteStore::open(path, {.durability = options.durability, .read_only = options.read_only}));
}
#endif

#ifdef TRIAGE_HAS_REDIS
Opened open_redis(const std::string& rest, const OpenStoreOptions& options) {
  return as_store(RedisStore::open(
      "redis://" + rest, {.durability = options.durability, .read_only = options.read_only}));
}
Opened open_rediss(const std::string& rest, const OpenStoreOptions& options) {
  return as_store(RedisStore::open(
      "rediss://" + rest, {.durability = options.durability, .read_only = options.read_only}));
}
#endif

#ifdef TRIAGE_HAS_POSTGRES
Opened open_postgres(const std::string& rest, const OpenStoreOptions& options) {
  return as_store(PostgresStore::open(
      "postgresql://" + rest, {.durability = options.durability, .read_only = options.read_only}));
}
#endif

struct Kind {
  std::string_view scheme{};
  std::string_view shown{};  // Empty: not advertised.
  Opened (*open)(const std::string& rest, const OpenStoreOptions& options) = nullptr;
};
constexpr Kind kinds[] = {
#ifdef TRIAGE_HAS_SQLITE
    {"sqlite", "sqlite:PATH", open_sqlite},
#endif
    {"file", "file:FOLDER", open_json_file},
    {"memory", "memory:", open_memory},
#ifdef TRIAGE_HAS_REDIS
    {"redis", "redis://HOST", open_redis},
    {"rediss", "", open_rediss},
#endif
#ifdef TRIAGE_HAS_POSTGRES
    {"postgresql", "postgresql://HOST", open_postgres},
    {"postgres", "", open_postgres},
#endif
};

// The scheme without its colon; empty for a plain path such as "a/b:c" or "c:d.db".
std::string_view scheme_of(std::string_view url) {
  const std::size_t colon = url.find(':');
  if (colon == url.npos || colon < 2) return {};
  const std::string_view scheme = url.substr(0, colon);
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  };
  const bool valid = std::isalpha(static_cast<unsigned char>(scheme.front())) != 0 &&
                     std::all_of(scheme.begin(), scheme.end(), allowed);
  return valid ? scheme : std::string_view();
}

// As in URLs: sqlite://x.db means x.db.
std::string behind_scheme(const std::string& url, std::string_view scheme) {
  std::string rest = url.substr(scheme.size() + 1);
  if (rest.starts_with("//")) rest.erase(0, 2);
  return rest;
}

bool names_a_path(std::string_view scheme) {
  return scheme.empty() || scheme == "sqlite" || scheme == "file";
}

bool is_folder_of_files(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(path) / "store.json", ignored);
}

bool may_be_secret(std::string_view name) {
  // Servers' libraries decode names, too.
  std::string lower = *detail::percent_decoded(name, detail::Malformed::keep);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 4> words = {"pass", "secret", "token", "key"};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

}  // namespace

Result<std::shared_ptr<CheckpointStore>> open_store(const std::string& url,
                                                    const OpenStoreOptions& options) {
  if (url.empty()) {
    return Error{Errc::invalid_argument,
                 "the store has no name; allowed are " + known_store_urls() + " and PATH"};
  }
  const std::string_view scheme = scheme_of(url);
  for (const Kind& kind : kinds) {
    if (kind.scheme != scheme) continue;
    return kind.open(behind_scheme(url, scheme), options);
  }
  if (!scheme.empty()) {
    return Error{Errc::invalid_argument, "store \"" + printable(without_secrets(url)) +
                                             "\": this build knows no \"" + std::string(scheme) +
                                             ":\" stores; it opens " + known_store_urls() +
                                             " and plain paths"};
  }
  if (is_folder_of_files(url)) return open_json_file(url, options);
#ifdef TRIAGE_HAS_SQLITE
  return open_sqlite(url, options);
#else
  return open_json_file(url, options);
#endif
}

std::optional<std::string> store_path(const std::string& url) {
  const std::string_view scheme = scheme_of(url);
  if (!names_a_path(scheme)) return std::nullopt;
  return scheme.empty() ? url : behind_scheme(url, scheme);
}

std::string known_store_urls() {
  std::string all;
  for (const Kind& kind : kinds) {
    if (!kind.shown.empty()) all += (all.empty() ? "" : ", ") + std::string(kind.shown);
  }
  return all;
}

std::string without_secrets(std::string_view url) {
  std::string text(url);
  const std::size_t slashes = text.find("://");
  const std::string_view scheme = scheme_of(url);
  if (slashes == text.npos && names_a_path(scheme)) return text;
  // open_store() also takes a URL without the slashes.
  const std::size_t begin = slashes == text.npos ? scheme.size() + 1 : slashes + 3;
  // A password may contain any character, even "?" and "/", so the last "@" ends it.
  const std::size_t at = text.rfind('@');
  if (at != text.npos && at >= begin) {
    const std::size_t colon = text.find(':', begin);
    if (colon < at) text.replace(colon + 1, at - colon - 1, "***");
  }
  std::size_t from = text.find('?', begin);
  while (from != text.npos && from < text.size()) {
    const std::size_t end = std::min(text.find('&', from + 1), text.size());
    const std::size_t equals = text.find('=', from);
    if (equals < end && may_be_secret(text.substr(from + 1, equals - from - 1))) {
      text.replace(equals + 1, end - equals - 1, "***");
    }
    from = text.find('&', from + 1);
  }
  return text;
}

}  // namespace triage::inline v0_1
