# SPDX-License-Identifier: MIT
"""Puts many mutations into one source file, so that one build holds all of them.

A mutation changes text inside a function. weave() puts the changed body beside the original one and lets the
environment choose at run time:

    int half(int x) { if (MUTANT == 7) { return x / 3; } else { return x / 2; } }

What lies outside of every body (a constant, a table, a member) cannot be woven.
"""
import re

PRELUDE = """\
#ifndef MUTANT
#include <cstdlib>
inline int chosen_mutant() {
  static const int chosen = std::getenv("MUTANT") != nullptr ? std::atoi(std::getenv("MUTANT")) : 0;
  return chosen;
}
#define MUTANT chosen_mutant()
#endif
"""
# Where braces say nothing: comments, literals, preprocessor lines.
OPAQUE = re.compile(r"""//[^\n]* | /\*.*?\*/ | R"([^()\s]*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*"
                        | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*' | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*""", re.S | re.M | re.X)
SCOPE = re.compile(r"(?:template\s*<[^{}]*>\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")
FUNCTION = re.compile(r"(?:[)}]|\b(?:const|noexcept|override|final|mutable)|\)[^()=]*->[^()=]*)\s*$")


def blank(match):
    text = match.group()
    filler = "_" if text.lstrip()[0] not in "/#" else " "
    return re.sub(r"[^\n]", filler, text)


def closing(code, opening):
    """The brace or parenthesis that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in "({") - (code[at] in ")}")
        if depth == 0:
            return at
    raise ValueError("a brace is never closed")


def bodies(text):
    """The outermost function bodies, each as the places of its two braces."""
    code = OPAQUE.sub(blank, text)
    found, head, at = [], 0, 0  # `head`: where the text in front of the next brace begins.
    while at < len(code):
        if code[at] == "(":
            at = closing(code, at)
        elif code[at] in ";}":
            head = at + 1
        elif code[at] == "{":
            before = re.sub(r"\b(?:public|private|protected)\s*:", "", code[head:at]).strip()
            if SCOPE.match(before):
                head = at + 1
            elif FUNCTION.search(before):
                found.append((at, closing(code, at)))
                at = found[-1][1]
                head = at + 1
            else:  # An initialiser, behind which the head goes on.
                at = closing(code, at)
        at += 1
    return found


def changed_part(old, new):
    """How many characters at the beginning and at the end of two texts are the same."""
    shorter = min(len(old), len(new))
    begin = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    end = next((i for i in range(shorter - begin) if old[-1 - i] != new[-1 - i]), shorter - begin)
    return begin, end


def body_of(text, row):
    """The body that holds all that a mutation changes, or None."""
    at = text.index(row["old"])
    begin, end = changed_part(row["old"], row["new"])
    first, last = at + begin, at + len(row["old"]) - end
    return next((body for body in bodies(text) if body[0] < first and last <= body[1]), None)


def weave(name, source, numbered):
    """The text of file `name` with mutations in it. `numbered`: (number, row), each with a body."""
    groups = {}
    for number, row in numbered:
        groups.setdefault(body_of(source, row), []).append((number, row))
    text = source
    for (opening, end), rows in sorted(groups.items(), reverse=True):
        choices = ""
        for number, row in rows:
            mutated = source.replace(row["old"], row["new"])
            body = mutated[opening + 1:end + len(mutated) - len(source)]
            # The compiler's complaints then name the mutation.
            choices += f'\n#line 1 "mutant-{number}"\nif (MUTANT == {number}) {{{body}\n}} else '
        line = source.count("\n", 0, opening) + 1
        text = f'{text[:opening + 1]}{choices}{{\n#line {line} "{name}"\n{source[opening + 1:end]}}}\n{text[end:]}'
    return f'{PRELUDE}#line 1 "{name}"\n{text}'
