# SPDX-License-Identifier: MIT
"""Checks the samples in README.md and docs/ that are no code: commands, policies, workflows, fault mixes, JSON.

Usage: check_samples.py COMMAND ROOT. COMMAND is the built `triage`. Every `triage …` in a block or between backticks must be
a command that it has, with options that its help lists. Every JSON block is parsed, and the documents are checked by the
command that reads them. Prints what is wrong and exits with 1 if anything is, or if hardly anything was found.
"""
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


@functools.lru_cache(maxsize=None)
def told(command, words):
    """The help of a command; of a group, its commands are under "Subcommands:"."""
    done = subprocess.run([command, *words, "--help"], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout


def blocks(page, *languages):
    """The fenced blocks of a page in these languages; "" is none."""
    return [text for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S) if language in languages]


def commands(page):
    """What follows `triage` wherever a page calls it."""
    for block in blocks(page, "", "bash") + re.findall(r"\n\n((?: {4}.*\n)+)", page):
        yield from re.findall(r"^\s*(?:\$ |\w+=\$\()?triage ([^\n]*)", block, re.M)
    yield from re.findall(r"`triage ([^`\n]+)`", page)


def wrong_in(command, text):
    """What a call is refused for."""
    try:
        words = shlex.split(text.replace("\\|", "|"), comments=True)
    except ValueError:  # A quotation that another line ends.
        words = text.split()
    groups = [()]
    while words and all("Subcommands:" in told(command, group) for group in groups):
        named = words.pop(0)
        if named.startswith("-"):
            words.insert(0, named)
            break
        for group in groups:
            for name in named.split("|"):
                if not re.search(rf"^  {re.escape(name)} ", told(command, group).split("Subcommands:")[1], re.M):
                    return f"there is no {' '.join(('triage', *group, name))}"
        groups = [(*group, name) for group in groups for name in named.split("|")]
    for word in words:
        if word == "--" or word[0] in "<>|":
            break
        option = word.split("=")[0]
        for group in groups:
            if option.startswith("--") and not re.search(rf"(?<![\w-]){option}(?![\w-])", told(command, group)):
                return f"{' '.join(('triage', *group))} has no {option}"
    return None


def accepted(arguments, text, folder):
    """What a command says against a document, or nothing."""
    path = Path(folder) / "sample"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([str(path) if word == "FILE" else word for word in arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", env=dict(os.environ, NEWS_KEY="key"), check=False)
    return None if done.returncode == 0 else done.stdout


def documents(command, page, text):
    """(arguments, document) for each document that a command can check."""
    if page == "gates.md":
        yield from (([command, "policy", "check", "FILE"], block) for block in blocks(text, "yaml"))
    if page == "lab.md":
        yield from (([command, "chaos", "--mix", "FILE", "--", "true"], block) for block in blocks(text, "json"))
    if page == "workflows.md":
        yield from (([command, "workflow", "run", "--check", "FILE"], block) for block in blocks(text, "yaml"))


def main(command, root):
    wrong = []
    called = checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            text = path.read_text(encoding="utf-8")
            for call in commands(text):
                called += 1
                error = wrong_in(command, call)
                if error:
                    wrong.append(f"{path.name}: triage {call}\n  {error}")
            for block in blocks(text, "json"):
                try:
                    json.loads(block)
                except ValueError as error:
                    wrong.append(f"{path.name}: {block}\n  {error}")
            for arguments, document in documents(command, path.name, text):
                checked += 1
                error = accepted(arguments, document, folder)
                if error:
                    wrong.append(f"{path.name}: {document}\n  {error}")
    print("\n".join(wrong) or f"{called} calls and {checked} documents are as the command takes them")
    return 1 if wrong or called < 100 or checked < 5 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
