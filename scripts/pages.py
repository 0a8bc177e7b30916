# SPDX-License-Identifier: MIT
"""Tables for the pages of docs/, and how the scripts write into them."""
import math
import sys


def write_between(page, begin, end, text, apart="\n\n"):
    """Puts a text between two markers of a page, in place of what stands there, and apart from them."""
    whole = page.read_text(encoding="utf-8")
    before, found, rest = whole.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        sys.exit(f"{page.name} has no place for this: add the lines {begin} and {end}")
    page.write_text(f"{before}{begin}{apart}{text}{apart}{end}{after}", encoding="utf-8")


def table(heading, rows):
    return "\n".join(["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)] +
                     ["| " + " | ".join(cells) + " |" for cells in rows])


def share(part, whole, digits=1):
    return f"{100 * part / whole:.{digits}f} %" if whole else "–"


def wilson(hits, count):
    """The interval that contains the true share with a probability of 95 %."""
    if count == 0:
        return 0.0, 1.0
    z, found = 1.96, hits / count
    middle = (found + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(found * (1 - found) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)
