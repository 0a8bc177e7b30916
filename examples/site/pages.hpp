// SPDX-License-Identifier: MIT
#pragma once
// A folder of Markdown files as a small web site.

#include <map>
#include <string>
#include <vector>

namespace site {

// Path ("/index.html") → HTML.
using Pages = std::map<std::string, std::string>;

// One page a file, one a section (heading of level 2), and an index of words by letter, all linked
// with each other. Deterministic. Throws std::runtime_error if there is no Markdown in the folder.
Pages render_folder(const std::string& folder);

// Paths that a page links to, in order, each once.
std::vector<std::string> links_of(const std::string& html);
// Words of its text, tags left out.
int words_of(const std::string& html);

}  // namespace site
