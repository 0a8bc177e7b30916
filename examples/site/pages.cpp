// SPDX-License-Identifier: MIT
#include "pages.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string_view>

namespace site {
namespace {

struct Section {
  std::string title{};
  std::string path{};
  std::vector<std::string> lines{};
};

struct Document {
  std::string file{};               // "events.md"
  std::vector<Section> sections{};  // The first one is what stands before the first heading 2.
};

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string link(const std::string& path, const std::string& text) {
  return "<a href=\"" + path + "\">" + escape(text) + "</a>";
}

std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "section" : out.substr(0, 60);
}

Document read_document(const std::filesystem::path& path, const std::string& name,
                       std::set<std::string>& taken) {
  Document document{.file = name};
  const std::string base = "/" + slug(name.substr(0, name.size() - 3));
  const auto unique = [&](std::string wanted) {
    while (!taken.insert(wanted + ".html").second) wanted += "-";
    return wanted + ".html";
  };
  document.sections.push_back({.title = name, .path = unique(base)});
  std::ifstream file(path);
  std::string line;
  bool in_code = false;
  while (std::getline(file, line)) {
    if (line.rfind("```", 0) == 0) in_code = !in_code;
    if (!in_code && line.rfind("# ", 0) == 0 && document.sections.size() == 1) {
      document.sections.front().title = line.substr(2);
    } else if (!in_code && line.rfind("## ", 0) == 0) {
      const std::string title = line.substr(3);
      document.sections.push_back({.title = title, .path = unique(base + "/" + slug(title))});
    }
    document.sections.back().lines.push_back(line);
  }
  return document;
}

// Names of files of this site become links.
std::string link_files(std::string text, const std::map<std::string, std::string>& files) {
  for (const auto& [name, path] : files) {
    std::size_t at = 0;
    while ((at = text.find(name, at)) != std::string::npos) {
      const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
      const std::string linked = begins ? link(path, name) : name;
      text.replace(at, name.size(), linked);
      at += linked.size();
    }
  }
  return text;
}

std::string page(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>" + escape(title) +
         "</title></head>\n<body>\n<h1>" + escape(title) + "</h1>\n" + body + "</body></html>\n";
}

void render_document(const Document& document, const std::map<std::string, std::string>& files,
                     Pages& pages) {
  for (std::size_t i = 0; i < document.sections.size(); ++i) {
    const Section& section = document.sections[i];
    std::string body = "<p>" + link("/index.html", "All documents");
    if (i > 0) {
      body += " | " + link(document.sections.front().path, document.file) + " | " +
              link(document.sections[i - 1].path, "previous");
    }
    if (i + 1 < document.sections.size()) {
      body += " | " + link(document.sections[i + 1].path, "next");
    }
    body += "</p>\n<pre>\n";
    for (const std::string& line : section.lines) body += link_files(escape(line), files) + "\n";
    body += "</pre>\n";
    if (i == 0 && document.sections.size() > 1) {
      body += "<ul>\n";
      for (std::size_t j = 1; j < document.sections.size(); ++j) {
        body += "<li>" + link(document.sections[j].path, document.sections[j].title) + "</li>\n";
      }
      body += "</ul>\n";
    }
    pages[section.path] = page(section.title, body);
  }
}

// Which sections have a word in their title that begins with the letter.
void render_letters(const std::vector<Document>& documents, Pages& pages, std::string& index) {
  std::map<char, std::map<std::string, std::string>> letters;
  for (const Document& document : documents) {
    for (const Section& section : document.sections) {
      char before = ' ';
      for (const char c : section.title) {
        const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (before == ' ' && letter >= 'a' && letter <= 'z') {
          letters[letter][section.title + " (" + document.file + ")"] = section.path;
        }
        before = c;
      }
    }
  }
  index += "<h2>By letter</h2>\n<p>\n";
  for (const auto& [letter, entries] : letters) {
    const std::string path = std::string("/letter/") + letter + ".html";
    std::string body = "<p>" + link("/index.html", "All documents") + "</p>\n<ul>\n";
    for (const auto& [text, target] : entries) body += "<li>" + link(target, text) + "</li>\n";
    pages[path] = page(std::string("Letter ") + letter, body + "</ul>\n");
    index += link(path, std::string(1, letter)) + "\n";
  }
  index += "</p>\n";
}

}  // namespace

Pages render_folder(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".md") paths.push_back(entry.path());
  }
  if (paths.empty()) throw std::runtime_error("there is no Markdown file in " + folder);
  std::sort(paths.begin(), paths.end());
  std::set<std::string> taken{"/index.html"};
  std::vector<Document> documents;
  std::map<std::string, std::string> files;
  for (const auto& path : paths) {
    const std::string name = std::filesystem::relative(path, folder).generic_string();
    documents.push_back(read_document(path, name, taken));
    files[name] = documents.back().sections.front().path;
  }
  Pages pages;
  std::string index = "<ul>\n";
  for (const Document& document : documents) {
    render_document(document, files, pages);
    index +=
        "<li>" + link(document.sections.front().path, document.sections.front().title) + "</li>\n";
  }
  index += "</ul>\n";
  render_letters(documents, pages, index);
  pages["/index.html"] = page("Documents", index);
  return pages;
}

std::vector<std::string> links_of(const std::string& html) {
  constexpr std::string_view mark = "href=\"";
  std::vector<std::string> links;
  for (std::size_t at = html.find(mark); at != std::string::npos; at = html.find(mark, at)) {
    at += mark.size();
    const std::size_t end = html.find('"', at);
    if (end == std::string::npos) break;
    std::string path = html.substr(at, end - at);
    if (std::find(links.begin(), links.end(), path) == links.end()) {
      links.push_back(std::move(path));
    }
  }
  return links;
}

int words_of(const std::string& html) {
  int words = 0;
  bool in_tag = false;
  bool in_word = false;
  for (const char c : html) {
    if (c == '<') in_tag = true;
    const bool part = !in_tag && c != '>' && std::isspace(static_cast<unsigned char>(c)) == 0;
    if (part && !in_word) ++words;
    in_word = part;
    if (c == '>') in_tag = false;
  }
  return words;
}

}  // namespace site
