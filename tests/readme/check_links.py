# SPDX-License-Identifier: MIT
"""Checks that the links of the pages lead somewhere: to a file, and to a heading of it.

Usage: check_links.py ROOT. Prints one line for each that does not and exits with 1 if there is one, or if hardly any was found.
"""
import functools
import re
import sys
from pathlib import Path


@functools.lru_cache(maxsize=None)
def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", shown).replace(" ", "-"))
    return found


def main(root):
    links = wrong = 0
    for page in [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            links += 1
            name, _, heading = target.partition("#")
            file = page.parent / name if name else page
            if not file.exists():
                print(f"{page.name}: {target}: there is no such file")
            elif heading and heading not in anchors(file):
                print(f"{page.name}: {target}: there is no such heading")
            else:
                continue
            wrong += 1
    print(f"{links} links, {wrong} wrong")
    return 1 if wrong or links < 100 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
