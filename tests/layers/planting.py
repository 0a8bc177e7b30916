# SPDX-License-Identifier: MIT
"""For tests of checks: plants one violation after another in a temporary tree."""
import tempfile
from pathlib import Path


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def judge(check, clean, planted):
    """check(root) gives a list of problems: none in `clean`, and one with the message for each (file, text, message).

    Prints what was judged wrongly, and returns the exit status.
    """
    failures = 0
    for one in [None, *planted]:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            write(tree, clean)
            if one:
                write(tree, {one[0]: one[1]})
            problems = check(tree)
            right = problems == [] if one is None else len(problems) == 1 and one[2] in problems[0]
            if not right:
                failures += 1
                print(f"planted {one}, found {problems}")
    print(f"{len(planted)} violations planted, {failures} judged wrongly")
    return 1 if failures else 0
