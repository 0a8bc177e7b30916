# SPDX-License-Identifier: MIT
"""Finds names whose headers a file does not include, directly or through our own headers.

Sources of a folder are compiled together (TRIAGE_UNITY), so a compiler sees a missing include only in the dev preset.
Known are the commonest names of the standard library, and what our public headers define at the beginning of a line.

Usage: check_missing_includes.py ROOT. Prints one line per violation and exits with 1 if there is one.
"""
import re
import sys
from functools import cache
from pathlib import Path

STANDARD = {
    "algorithm": "any_of all_of none_of find_if sort stable_sort lower_bound upper_bound max_element min_element clamp reverse "
                 "count_if remove_if adjacent_find equal_range partition unique",
    "array": "array",
    "atomic": "atomic memory_order_relaxed",
    "condition_variable": "condition_variable condition_variable_any",
    "deque": "deque",
    "exception": "exception_ptr current_exception rethrow_exception",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function hash",
    "future": "promise future async",
    "iostream": "cout cerr",
    "map": "map multimap",
    "memory": "shared_ptr unique_ptr weak_ptr make_shared make_unique enable_shared_from_this",
    "mutex": "mutex scoped_lock unique_lock once_flag call_once",
    "numeric": "accumulate iota",
    "optional": "optional nullopt",
    "random": "mt19937 mt19937_64 uniform_int_distribution",
    "set": "set multiset",
    "span": "span",
    "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error logic_error",
    "stop_token": "stop_token stop_source stop_callback",
    "string": "string to_string",
    "string_view": "string_view",
    "thread": "thread jthread this_thread",
    "tuple": "tuple tie",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant get_if monostate",
    "vector": "vector",
}
# Headers that the standard, or the library that they belong to, makes as good as those.
AS_GOOD = {
    "string_view": {"string"},
    "mutex": {"condition_variable"},
    "exception": {"stdexcept"},
    "stop_token": {"thread", "condition_variable"},
}
HEADER_OF = {f"std::{name}": header for header, names in STANDARD.items() for name in names.split()}

FOLDERS = ["include", "src", "workflow", "policies", "stores", "testing", "lab", "llm", "observers", "training", "supervise", "cli", "tools"]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
COMMENTS = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"', re.S)
DEFINES = re.compile(r"^(?:class|struct|enum class|enum|using)\s+(?:\[\[\w+\]\]\s+)?([A-Z]\w+)(?:\s+final)?(?:\s*:[^;]*)?\s*[{=:]|^(?:class|struct)\s+([A-Z]\w+)[^;{]*\{", re.M)
DECLARES = re.compile(r"\b(?:class|struct|enum class|enum|using|typename|concept)(?:\.\.\.)?\s+([A-Z]\w+)")
USES_STD = re.compile(r"\bstd::\w+")
USES = re.compile(r"(?<![\w:.>])(?:triage::)?([A-Z]\w+)\b")


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = [path.relative_to(root).as_posix() for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
                      if path.suffix in {".cpp", ".hpp"}]
        self.names = set(self.files)
        self.texts = {file: (root / file).read_text(encoding="utf-8") for file in self.files}
        self.code = {file: COMMENTS.sub(" ", text) for file, text in self.texts.items()}
        self.defined = {}  # Name: the headers that define it.
        for file in self.files:
            if file.startswith("include/"):
                for found in DEFINES.findall(self.code[file]):
                    self.defined.setdefault(found[0] or found[1], set()).add(file)
        self.reaches = cache(self.reach)

    def resolve(self, file, target):
        wing = file.split("/")[0]
        for path in (f"include/{target}", f"{Path(file).parent.as_posix()}/{target}", f"{wing}/{target}", f"src/{target}", f"training/{target}", target):
            if path in self.names:
                return path
        return None

    def reach(self, file):
        """Our files and foreign headers that `file` includes, directly or not."""
        seen, system, left = {file}, set(), [file]
        while left:
            one = left.pop()
            for _, target in INCLUDE.findall(self.texts[one]):
                ours = self.resolve(one, target)
                if ours is None:
                    system.add(target)
                elif ours not in seen:
                    seen.add(ours)
                    left.append(ours)
        return seen, system

    def problems(self):
        for file in self.files:
            code = self.code[file]
            seen, system = self.reaches(file)
            for name in sorted(set(USES_STD.findall(code)) & HEADER_OF.keys()):
                header = HEADER_OF[name]
                if not system & ({header} | AS_GOOD.get(header, set())):
                    yield f"{file}: uses {name} without <{header}>"
            declared = set(DECLARES.findall(code))
            for name in sorted(set(USES.findall(code)) & self.defined.keys() - declared):
                if not seen & self.defined[name] and not any(name in DECLARES.findall(self.code[one]) for one in seen):
                    yield f"{file}: uses {name} without {' or '.join(sorted(self.defined[name]))}"


if __name__ == "__main__":
    found = list(Tree(Path(sys.argv[1])).problems())
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
