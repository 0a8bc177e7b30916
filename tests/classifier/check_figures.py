# SPDX-License-Identifier: MIT
"""Checks that the users' page about classification quotes the figures of the maintainers' page.

Usage: check_figures.py ROOT. Every percentage with a decimal in docs/classification.md, except under "Teaching it", must be
in docs/classification_internals.md, whose tables are generated. Prints missing ones and exits with 1 if there are any.
"""
import re
import sys
from pathlib import Path

docs = Path(sys.argv[1]) / "docs"
quoted = (docs / "classification.md").read_text(encoding="utf-8").split("\n## Teaching it")[0]
measured = set(re.findall(r"\d+\.\d+", (docs / "classification_internals.md").read_text(encoding="utf-8")))
figures = re.findall(r"(\d+\.\d+)\s%", quoted)
stale = sorted(set(figures) - measured)
for figure in stale:
    print(f"docs/classification.md quotes {figure} %, which docs/classification_internals.md does not have")
if not figures:
    print("docs/classification.md quotes no figures")
sys.exit(1 if stale or not figures else 0)
