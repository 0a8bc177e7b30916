# SPDX-License-Identifier: MIT
"""What one provocation is, and short ways to write many of them."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    origin: str  # Who wrote the text, as in the rest of the corpus.
    label: str
    reason: str
    command: str  # A line for bash, run in its own folder.
    needs: str  # The program that the case requires; skipped without it.
    files: dict = field(default_factory=dict, hash=False)
    codes: dict = field(default_factory=dict, hash=False)
    as_self: bool = False  # True: run by the calling user, because only that user can read the program.


def split_key(key):
    """Parses 'label reason [http status]', the key of a group."""
    label, reason, *status = key.split()
    return label, reason, ({"http_status": int(status[0])} if status else {})


def commands(origin, groups, needs=None, files=None, as_self=False):
    """Cases from command lines, grouped by 'label reason'. The first word of a line is the program."""
    for key, lines in groups.items():
        label, reason, codes = split_key(key)
        for line in lines:
            words = line.split()
            program = needs or (words[4] if words[0] == "inject" else words[0])
            yield Case(origin, label, reason, line, program, files or {}, codes, as_self)


def sources(origin, names, run, groups, needs=None, files=None, as_self=False):
    """Cases from source texts, each saved as one of the names ({f}; {b} without its extension) and run."""
    count = 0
    for key, texts in groups.items():
        label, reason, codes = split_key(key)
        for text in texts:
            name = names[count % len(names)]
            count += 1
            line = run.replace("{f}", name).replace("{b}", name.rsplit(".", 1)[0])
            held = dict(files or {}, **{name: text.strip("\n") + "\n"})
            yield Case(origin, label, reason, line, needs or run.split()[0], held, codes, as_self)
