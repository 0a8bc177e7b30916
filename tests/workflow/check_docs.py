# SPDX-License-Identifier: MIT
"""Checks that every test named in docs/workflows.md exists.

Usage: check_docs.py ROOT. Prints one line for each missing test and exits with 1 if there is one.
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
names = set()
for source in (root / "tests" / "workflow").glob("*.cpp"):
    for case in re.finditer(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', source.read_text(encoding="utf-8")):
        names.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', case[1])))
rows = [line.strip("|").split("|") for line in (root / "docs" / "workflows.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| there")]
missing = [row[-1].strip() for row in rows if row[-1].strip() not in names]
for name in missing:
    print(f"docs/workflows.md names a test that does not exist: {name}")
if not rows:
    print("docs/workflows.md has no table of tests")
sys.exit(1 if missing or not rows else 0)
