#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/mutants.py, on a made-up file: which texts are function bodies, and what a woven file does."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import mutants

SOURCE = r'''#include <cstdio>
namespace outer::inline v1 {
namespace {
constexpr int table[] = {1, 2};  // Not a {body}.
#define OPEN_BRACE {
const char* text = R"x( int f() { return 1; } )x";
template <class T>
class Pair final {
 public:
  Pair(T a, T b) : a_{a}, b_(b) {}
  [[nodiscard]] T sum() const noexcept { return a_ + b_; }
  auto first() const -> T { return a_; }
 private:
  T a_ = T{};
  T b_{};
};
char brace() { return '{'; }
int pick(int n) {
  switch (n) {
    case 1: return 10;
    default: break;
  }
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += table[i % 2];
  return sum;
}
}  // namespace
}  // namespace outer::inline v1
int main() {
  std::printf("%d %d %c", outer::Pair<int>(1, 2).sum(), outer::pick(3), outer::brace());
}
'''


def row(old, new):
    return {"old": old, "new": new}


class Mutants(unittest.TestCase):
    def test_only_outermost_bodies_are_found(self):
        found = [SOURCE[begin + 1:end].split("\n")[0].strip() for begin, end in mutants.bodies(SOURCE)]
        self.assertEqual(found, ["", "return a_ + b_;", "return a_;", "return '{';", "", ""])

    def test_what_lies_outside_of_bodies_is_not_woven(self):
        self.assertIsNone(mutants.body_of(SOURCE, row("{1, 2}", "{1, 3}")))
        self.assertIsNone(mutants.body_of(SOURCE, row("a_{a}", "a_{b}")))
        self.assertIsNone(mutants.body_of(SOURCE, row("R\"x( int f() { return 1;", "R\"x( int f() { return 2;")))

    def test_a_text_may_begin_before_its_body_if_only_the_body_changes(self):
        self.assertIsNotNone(mutants.body_of(SOURCE, row("char brace() { return '{';", "char brace() { return '}';")))

    def test_one_program_holds_all_and_the_environment_chooses(self):
        rows = [(1, row("a_ + b_", "a_ - b_")), (2, row("case 1: return 10;", "case 3: return 10;")),
                (3, row("int sum = 0;", "int sum = 5;")), (4, row("brace() { return '{'", "brace() { return '['"))]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.cpp").write_text(mutants.weave("a.cpp", SOURCE, rows))
            subprocess.run(["c++", "-std=c++20", "-w", "a.cpp", "-o", "a"], cwd=folder, check=True)
            said = [subprocess.run([f"{folder}/a"], env={"MUTANT": str(number)}, capture_output=True, text=True,
                                   check=True).stdout for number in range(6)]
        self.assertEqual(said, ["3 4 {", "-1 4 {", "3 10 {", "3 9 {", "3 4 [", "3 4 {"])

    def test_a_complaint_of_the_compiler_names_the_mutation(self):
        woven = mutants.weave("a.cpp", SOURCE, [(7, row("return sum;", "return summ;"))])
        built = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-x", "c++", "-"], input=woven,
                               capture_output=True, text=True)
        self.assertRegex(built.stderr, r"mutant-7:\d+:\d+: error")


if __name__ == "__main__":
    unittest.main()
