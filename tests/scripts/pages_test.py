# SPDX-License-Identifier: MIT
"""scripts/pages.py: only what stands between two markers changes, and a page without them stays as it is."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import pages  # noqa: E402

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = Path(self.folder.name, "page.md")

    def test_only_what_is_between_the_markers_changes(self):
        self.page.write_text(f"Before.\n{BEGIN}\nold, as it was\n{END}\nAfter.\n", encoding="utf-8")
        for _ in range(2):
            pages.write_between(self.page, BEGIN, END, "1 %")
            self.assertEqual(self.page.read_text(encoding="utf-8"), f"Before.\n{BEGIN}\n\n1 %\n\n{END}\nAfter.\n")

    def test_a_page_without_the_markers_is_named_and_stays_as_it_is(self):
        for text in ("Before.\n", f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n"):
            self.page.write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, f"page.md has no place for this: add the lines {BEGIN} and {END}"):
                pages.write_between(self.page, BEGIN, END, "1 %")
            self.assertEqual(self.page.read_text(encoding="utf-8"), text)

    def test_a_table_has_a_line_per_row(self):
        self.assertEqual(pages.table(["a", "b"], [["1", "2"]]), "| a | b |\n|---|---|\n| 1 | 2 |")

    def test_shares_and_their_intervals_are_those_computed_by_hand(self):
        self.assertEqual([pages.share(1, 3), pages.share(1, 3, 2), pages.share(0, 0)], ["33.3 %", "33.33 %", "–"])
        low, high = pages.wilson(8, 10)
        self.assertEqual([round(low, 4), round(high, 4)], [0.4902, 0.9433])
        self.assertEqual(pages.wilson(0, 0), (0.0, 1.0))


if __name__ == "__main__":
    unittest.main()
