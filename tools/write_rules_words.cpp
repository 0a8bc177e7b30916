// SPDX-License-Identifier: MIT
// Writes data/rules_words.tsv: the words that the phrases of data/rules.tsv need.
#include "classifier/phrases/rules_table.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

using namespace triage;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: write_rules_words RULES_FILE WORDS_FILE\n", stderr);
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string table((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto rows = detail::read_rule_table(table);
  if (!file || !rows) {
    std::fprintf(stderr, "write_rules_words: %s cannot be read\n", argv[1]);
    return 4;
  }
  std::ofstream out(argv[2], std::ios::trunc);
  out << "# Made from rules.tsv by tools/write_rules_words.\n"
      << detail::written_words(rows.value());
  out.close();
  return out ? 0 : 4;
}
