# SPDX-License-Identifier: MIT
"""Runs the commands that a page prints together with their output, and compares the output.

Usage: check_printed.py COMMAND PAGE. A block of the page counts if its first line begins with "$ " and it shows some
output. All commands of a page run in order in one folder with the scripts of examples/. "…" in a printed line matches
anything, and a number with decimals matches those that round to it. COMMAND is the built command, called `triage` there.
Prints the differences and exits with 1 if there are any, or if no block counts.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def printed_blocks(page):
    """(command, output lines) of every command in a block that shows output."""
    for block in re.findall(r"^```\n(\$ .*?)^```$", page, re.M | re.S):
        commands = []
        for part in re.split(r"^(?=\$ )", block, flags=re.M)[1:]:
            lines = part[2:].splitlines()
            taken = 1
            here = re.search(r"<<'(\w+)'$", lines[0])
            if here:
                taken = lines.index(here[1]) + 1
            commands.append(("\n".join(lines[:taken]), lines[taken:]))
        if any(output for _, output in commands):
            yield from commands


def shows(printed, got):
    """Whether the page's line matches the line printed by the command."""
    number = r"\d+\.\d+"
    form = "".join(f"({number})" if re.fullmatch(number, part) else ".*".join(map(re.escape, part.split("…")))
                   for part in re.split(f"({number})", printed))
    found = re.fullmatch(form, got)
    return found is not None and all(
        f"{float(real):.{len(shown.split('.')[1])}f}" == shown
        for shown, real in zip(re.findall(number, printed), found.groups()))


def differences(command, printed, output):
    shown = output.splitlines()
    for number, line in enumerate(printed):
        got = shown[number] if number < len(shown) else "(nothing)"
        if not shows(line, got):
            yield f"{command.splitlines()[0]}\n  the page prints: {line}\n  the command:     {got}"
    if len(shown) > len(printed):
        yield f"{command.splitlines()[0]}\n  prints more than the page: {shown[len(printed)]}"


def main(command, page):
    checked = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(command, Path(folder) / "triage")
        for script in (Path(page).parent / "examples").glob("*.sh"):
            shutil.copy(script, folder)
        environment = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])
        for text, printed in printed_blocks(Path(page).read_text(encoding="utf-8")):
            done = subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  encoding="utf-8", cwd=folder, env=environment, check=False)
            wrong.extend(differences(text, printed, done.stdout))
            checked += 1
    print("\n".join(wrong) or f"{checked} printed commands do what {page} shows")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
