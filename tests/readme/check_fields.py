# SPDX-License-Identifier: MIT
"""Compares the fields that docs/surface.md lists with the structs of the headers, names and order.

Usage: check_fields.py ROOT. Prints the differences and exits with 1 if there are any.
"""
import re
import sys
from pathlib import Path


def fields_of(headers, name):
    """The data members of a struct in order; None if there is no such struct."""
    found = re.search(rf"^struct {name} \{{\n(.*?)^\}};", headers, re.M | re.S)
    if not found:
        return None
    lines = [re.sub(r"//.*", "", line).rstrip() for line in found[1].splitlines()]
    members = [re.match(r"  (?! |friend|enum|static|\[\[)[\w:<>,\s*&().]*?[\s>*&](\w+)(?:\{.*\}| = [^;]+)?;$", line) for line in lines]
    return [member[1] for member in members if member]


def main(root):
    headers = "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / "include/triage").glob("*.hpp")))
    page = (root / "docs/surface.md").read_text(encoding="utf-8")
    section = page.split("## What you fill in")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)`[^|]*\| (.*) \|$", section, re.M)
    wrong = 0
    for name, listed in rows:
        told = re.findall(r"`(\w+)`", listed)
        real = fields_of(headers, name)
        if told != real:
            print(f"{name}\n  docs/surface.md: {told}\n  the header:      {real}")
            wrong += 1
    print(f"{len(rows)} lists of fields, {wrong} wrong")
    return 1 if wrong or len(rows) < 7 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
