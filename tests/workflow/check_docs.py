# SPDX-License-Identifier: MIT
"""Checks that every test named in docs/workflows_guarantees.md exists, that the tables of docs/workflows.md have the keys that a workflow's
file may have, and that docs/checkpoint_format.md has the keys that a workflow's run and the library keep.

Usage: check_docs.py ROOT. Prints one line for each difference and exits with 1 if there is one.
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
names = set()
for source in (root / "tests" / "workflow").glob("*.cpp"):
    for case in re.finditer(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', source.read_text(encoding="utf-8")):
        names.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', case[1])))
guarantees = (root / "docs" / "workflows_guarantees.md").read_text(encoding="utf-8")
rows = [line.strip("|").split("|") for line in guarantees[guarantees.index("## Moving over"):].splitlines()
        if line.startswith("| ") and not line.startswith("| there")]
missing = [row[-1].strip() for row in rows if row[-1].strip() not in names]
for name in missing:
    print(f"docs/workflows_guarantees.md names a test that does not exist: {name}")
if not rows:
    print("docs/workflows_guarantees.md has no table of tests")

text = (root / "docs" / "workflows.md").read_text(encoding="utf-8")
told = set()
for table in re.findall(r"^\| key of [^\n]*\n((?:\|[^\n]*\n)+)", text, re.M):
    for line in table.splitlines():
        told.update(re.findall(r"`(\w+)`", line.split("|")[1]))
allowed = set()
for name in ("workflow_file.cpp", "workflow_graph_file.cpp"):
    source = (root / "cli" / "workflows" / name).read_text(encoding="utf-8")
    for keys in re.findall(r"check_keys\([^{;]*\{([^}]*)\}", source):
        allowed.update(re.findall(r'"(\w+)"', keys))
for key in sorted(told ^ allowed):
    print(f"docs/workflows.md: the key {key} of a workflow's file is " + ("not in a table" if key in allowed else "in a table, and not allowed"))

format_page = (root / "docs" / "checkpoint_format.md").read_text(encoding="utf-8")
kept = set()
for source in ("src/base/key_space.cpp", "workflow/definition/state_keys.hpp"):
    kept.update(re.findall(r'"(triage/[a-z_]+/?)"', (root / source).read_text(encoding="utf-8")))
untold = [key for key in sorted(kept) if "`" + key not in format_page]
for key in untold:
    print(f"docs/checkpoint_format.md does not name the key {key}")
sys.exit(1 if missing or not rows or told ^ allowed or not told or untold or len(kept) < 15 else 0)
