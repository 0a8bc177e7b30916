// SPDX-License-Identifier: MIT
#include "triage/redaction.hpp"

#include "redaction/secret_spans.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace triage::inline v0_1 {
namespace {

using detail::Span;
using detail::Spans;

// Also the beginning of a secret where a text was cut: at its end, and before "…".
void find_known(std::string_view text, const std::vector<std::string>& known, Spans& found) {
  constexpr std::size_t least = 8;
  constexpr std::string_view cut = "…";
  for (const std::string_view secret : known) {
    const std::string_view head = secret.substr(0, least);
    std::size_t next = 0;
    for (std::size_t at = text.find(head); at != std::string_view::npos;
         at = text.find(head, next)) {
      const std::string_view here = text.substr(at, secret.size());
      const auto differs = std::mismatch(here.begin(), here.end(), secret.begin()).first;
      const std::size_t end = at + static_cast<std::size_t>(differs - here.begin());
      const bool whole = end == at + secret.size();
      next = whole ? end : at + 1;
      if (whole || end == text.size() || text.substr(end).starts_with(cut)) {
        found.push_back({at, end});
      }
    }
  }
}

std::string without(std::string_view text, Spans found) {
  std::sort(found.begin(), found.end(),
            [](const Span& one, const Span& other) { return one.begin < other.begin; });
  std::string left;
  std::size_t done = 0;
  for (const Span& span : found) {
    if (span.end <= done) continue;
    if (span.begin > done || done == 0) {
      left += text.substr(done, span.begin - done);
      left += redacted_mark;
    }
    done = span.end;  // Overlapping spans share one mark.
  }
  left += text.substr(done);
  return left;
}

class CommonRedactor final : public Redactor {
 public:
  explicit CommonRedactor(const CommonSecrets& more) : known_(more.known) {
    constexpr std::size_t least = 4;
    std::erase_if(known_, [](const std::string& secret) { return secret.size() < least; });
    for (const std::string& name : more.names) names_.push_back(detail::flat_name(name));
  }

  [[nodiscard]] std::string text(std::string_view text) const override {
    Spans found;
    find_known(text, known_, found);
    detail::find_shapes(text, found);
    detail::find_named(text, names_, found);
    // Text that is already redacted stays as it is.
    std::erase_if(found, [text](const Span& span) {
      return text.substr(span.begin, span.end - span.begin) == redacted_mark;
    });
    return found.empty() ? std::string(text) : without(text, std::move(found));
  }
  [[nodiscard]] bool names_secret(std::string_view name) const override {
    return detail::is_secret_name(name) ||
           std::find(names_.begin(), names_.end(), detail::flat_name(name)) != names_.end();
  }

 private:
  std::vector<std::string> known_{};
  std::vector<std::string> names_{};  // As flat_name() returns them.
};

// A short number under such a name is a count or a limit.
bool is_long_number(const Json& value) {
  constexpr double least = 100'000;
  return value.is_number() && value.get<double>() >= least;
}

const std::string* text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

bool is_pair(const Json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string();
}

void redact_names(Json& object, const Redactor& redactor) {
  std::vector<std::pair<std::string, std::string>> changed;
  for (const auto& [key, inner] : object.items()) {
    if (std::string left = redactor.text(key); left != key) changed.emplace_back(key, left);
  }
  std::vector<Json> moved;
  for (const auto& one : changed) {
    moved.push_back(std::move(object[one.first]));
    object.erase(one.first);
  }
  std::map<std::string_view, std::size_t> used;  // By text: the highest number so far.
  for (std::size_t i = 0; i < changed.size(); ++i) {
    // Another name may have become the same text: neither member may be lost.
    std::string name = changed[i].second;
    std::size_t& number = used.try_emplace(changed[i].second, 1).first->second;
    while (object.contains(name)) name = changed[i].second + " " + std::to_string(++number);
    object[name] = std::move(moved[i]);
  }
}

enum class Reach : std::uint8_t { texts, everything };

// Values are at most max_json_depth levels deep.
void redact_in(Json& value, const Redactor& redactor, Reach reach, bool named) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    value = named && !text.empty() ? std::string(redacted_mark) : redactor.text(text);
  } else if (named && is_long_number(value)) {
    value = redacted_mark;
  } else if (reach == Reach::everything && value.is_number_integer()) {
    const std::string text = value.dump();
    if (redactor.text(text) != text) value = redacted_mark;
  } else if (value.is_object()) {
    const std::string* name = text_at(value, "name");
    if (name == nullptr) name = text_at(value, "key");
    const bool pair = name != nullptr && redactor.names_secret(*name);
    for (auto& [key, inner] : value.items()) {
      redact_in(inner, redactor, reach,
                named || (pair && key == "value") || redactor.names_secret(key));
    }
    if (reach == Reach::everything) redact_names(value, redactor);
  } else if (is_pair(value) && redactor.names_secret(value[0].get_ref<const std::string&>())) {
    redact_in(value[1], redactor, reach, true);
  } else if (value.is_array()) {
    for (Json& inner : value) redact_in(inner, redactor, reach, named);
  }
}

}  // namespace

bool Redactor::names_secret(std::string_view /*name*/) const { return false; }

void redact(Json& value, const Redactor& redactor) {
  redact_in(value, redactor, Reach::everything, false);
}
void detail::redact_texts(Json& value, const Redactor& redactor) {
  redact_in(value, redactor, Reach::texts, false);
}

std::shared_ptr<const Redactor> common_secrets(const CommonSecrets& more) {
  return std::make_shared<CommonRedactor>(more);
}

}  // namespace triage::inline v0_1
