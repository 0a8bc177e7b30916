# SPDX-License-Identifier: MIT
"""Checks the source tree against the rules that compilers do not check: who may include whom, and house style.

Usage: check_tree.py ROOT. Prints one line per violation and exits with 1 if there is one.
"""
import itertools
import re
import sys
from pathlib import Path

# The house, from the ground up. A header may include headers of its own floor and below.
FLOORS = [
    {"version", "result", "clock", "json", "detail/try", "detail/json_depth", "detail/counted", "detail/shell_word", "detail/nearest", "detail/saturate", "detail/later", "detail/file_descriptor", "detail/proc_file", "detail/fnv1a", "detail/hex",
     "detail/joined", "detail/problems", "detail/reserved", "detail/unwrapped", "detail/stored_field", "detail/utc_text"},
    {"taxonomy", "classification", "failure", "exit_status", "step", "usage", "limits", "json_schema", "redaction", "contract", "run_id", "state",
     "trajectory", "record", "checkpoint", "price_table", "detail/step_chunk", "detail/state_versions",
     "detail/checkpoint_line", "detail/own_label", "detail/record_rules", "detail/crash_count", "detail/same_record"},
    # journal folds records into recovery actions, so it is on the floor of the header that defines those.
    # A budget is a mechanism that knows nothing of runs: policy documents create one.
    {"key_space", "checkpoint_store", "forwarding_store", "compaction", "orphans", "wakes_workers", "reference_store", "repair", "retention", "classifier", "hybrid_classifier", "gate", "guard", "budget",
     "policy", "observer", "journal", "effect", "corrections", "detail/effect_ledger", "detail/run_facts", "detail/sealed_record", "detail/store_extension"},
    {"agent_options", "work", "detail/work", "fork", "suspension", "attempt", "task_group", "hedge", "operations", "agent", "detail/call",
     "detail/run_loop", "detail/store_now", "detail/compact_now", "detail/cancel_token",
     "detail/own_checkpoint"},
    # The wing of many agents: nothing below it knows it, and it names no plug-in.
    {"workflow/agent_executor", "workflow/checkpoints", "workflow/context", "workflow/crew", "workflow/events", "workflow/executor", "workflow/flow", "workflow/inspect", "workflow/memory", "workflow/message", "workflow/roundtrip", "workflow/run",
     "workflow/task_graph", "workflow/team", "workflow/workflow"},
]
# The rooms of src/, from the ground up. A room may include the floors below it, but no other room on its floor, except
# within the mechanism: a run, its effects and its resumption are one thing in three rooms.
ROOMS = [
    {"base"},
    {"search", "redaction", "seams"},
    {"journal", "evidence"},
    {"storage", "contract", "classifier/phrases", "classifier/times", "classifier/undress"},
    {"classifier/codes", "classifier/text"},
    {"classifier/blame"},
    {"classifier"},
    {"run", "effects", "resume"},
    {"feedback"},
]
MECHANISM_ROOMS = {"run", "effects", "resume"}
# The rooms of the wings, likewise; "" is the wing's folder itself.
WINGS = {
    "src": ROOMS,
    "workflow": [{"definition"}, {"builders", "schedule"}, {"records"}, {"driver"}, {"views"}],
    "lab": [{"base"}, {"faults", "http", "simulation", "replay"}, {"scripted"}, {"experiment"}],
    "supervise": [{"spec"}, {"process"}, {"protocol", "workspace", "attempt"}, {"adapters"}, {""}],
    "cli": [{"", "late"}, {"arguments", "render"}, {"documents"}, {"programs"}, {"workflows"}, {"commands"}],
}
# Which rooms of src/ the code outside of it may enter, and what for. Whoever is not here enters none; tests enter all.
REACH = {
    "workflow": {
        "base": "calls of user code that may throw, hashes, words of JSON",
        "journal": "a run's stored suspensions and signals, read for a workflow's requests",
        "resume": "what was sent to a run that waits for answers",
        "run": "earlier() of two deadlines, and a stop token linked from two",
        "storage": "the rules for labels, and the checkpoints that a run returned to",
    },
    "policies": {
        "base": "letters without a locale",
        "seams": "the names of recovery actions",
    },
    "stores": {
        "base": "calls of drivers that may throw, digests, UTF-8",
        "journal": "the heads of CBOR",
        "storage": "what all stores have in common: busy runs, owners, halves of an import",
    },
    "observers": {
        "base": "an error is told on without its secrets",
    },
    "lab": {
        "contract": "a replay asks which subgoals are open",
        "effects": "a confirmation knows the cause of a refused effect",
        "journal": "a replay reads failures and suspensions from records",
        "run": "a replay drives the state machine of a run",
    },
    "training": {
        "classifier/text": "the text model is what it fits",
        "classifier/undress": "endings of a text are features",
        "evidence": "findings are the model's input",
        "journal": "causes as corrections store them",
    },
    "tools": {
        "classifier/blame": "fit_blame fits the weights there",
        "classifier/phrases": "write_rules_words reads the table of rules",
        "evidence": "eval_classifier asks each part of the classifier alone",
    },
}
ROOM_FLOOR = {wing: {room: floor for floor, rooms in enumerate(floors) for room in rooms} for wing, floors in WINGS.items()}

FLOOR_OF = {header: floor for floor, headers in enumerate(FLOORS) for header in headers}
MECHANISM = 3

# Plug-ins that combine their siblings, and what siblings may share. All others may only include themselves.
COMBINERS = {"policies/registry", "policies/built_in", "policies/sequence",
             "policies/document", "policies/yaml", "stores/open_store", "stores/open_reference"}
SHARED = {"policies/duration", "policies/arguments", "policies/backoff"}

# Single files that may include one more header, with the reason.
EXCEPTIONS = {
    ("stores/simple/simple.cpp", "stores/memory"): "the adapter keeps what a simple store cannot in a memory store",
    ("stores/sqlite/sqlite_walk.cpp", "policy"): "records name recovery actions, whose names policy.hpp defines",
}

# Third-party headers restricted to certain files.
FOREIGN = [
    (r"SQLiteCpp/|sqlite3", r"stores/sqlite/\w+\.[ch]pp|examples/payments/ledger\.cpp|tests/|bench/"),
    (r"hiredis/", r"stores/redis/\w+\.cpp|tests/|bench/"),
    (r"libpq-fe", r"stores/postgres/\w+\.cpp|cli/late/late_pq\.cpp|tests/|bench/"),
    (r"re2/", r"src/(contract|evidence|classifier)/[\w/]+\.[ch]pp|supervise/(spec/redaction|adapters/local_times)\.cpp|training/near_duplicates\.cpp|tests/|bench/"),
    # Randomness, tokens, fingerprints; encryption.
    (r"sodium", r"(src/(base/(clock|token|digest)|run/agent_core)|stores/encrypted/(aead|encrypted_sealing)|tests/stores/aead\.test)\.cpp"),
    (r"openssl/", r"stores/(encrypted/aead|redis/redis_tls)\.cpp|tests/"),
    (r"httplib", r"examples/|tests/"),
    (r"curl/", r"llm/http\.cpp|cli/late/late_curl\.cpp|examples/"),
    (r"CLI/", r"cli/"),
    (r"yaml-cpp/", r"policies/documents/yaml\.cpp"),
    (r"benchmark/", r"bench/"),
    (r"catch2/", r"tests/support/catch\.hpp"),
    (r"boost/outcome/try", r"include/triage/detail/try\.hpp"),
    (r"regex$", r"(?!)"),
]

CODE_DIRS = ["include", "src", "workflow", "policies", "stores", "testing", "lab", "llm", "observers", "training", "supervise", "cli", "tests", "examples", "bench", "tools"]
TEXT_DIRS = CODE_DIRS + ["scripts", "cmake", "docs", ".ci"]
MAX_LINES = 400
# What an agent does again is an attempt; one that is not its first is a retry.
TRY = re.compile(r"\b(?:first|second|next|last|previous|another|other|each|every|one|two|all) (?:try|tries)\b")
# Files that may exceed the maximum length, with their limits.
LONG_FILES = {
    "tests/classifier/phrases.hpp": 700,  # A table: three wordings and two near misses per rule.
}
# Programs that kill real processes at random moments of real time.
MAY_SLEEP = {"tests/crash/campaign.cpp"}
# A source in a list of a CMake file, with the variable that its path begins with.
LISTED = re.compile(r"(\$\{\w+\}/)?[\w./-]+\.[ch]pp")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)


def files_in(root, folders, suffixes=None):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and (suffixes is None or path.suffix in suffixes):
                yield path.relative_to(root).as_posix()


def may_include(file, header):
    """Why `file` must not include triage/`header`.hpp, or None."""
    plugin = re.match(r"(policies|stores|testing|llm|observers|lab)/", header)
    if not plugin and header != "triage" and header not in FLOOR_OF:
        return "which stands on no floor: add it to FLOORS in tests/layers/check_tree.py"
    if (file, header) in EXCEPTIONS:
        return None
    # The lab is above all plug-ins: only the outermost programs know it.
    if re.match(r"(include/triage/)?lab/", file):
        return "the lab is not part of it" if header == "triage" else None
    if header.startswith("lab/") and not re.match(r"(cli|examples|tests|bench)/", file):
        return "nothing below the lab knows it"
    floor = FLOOR_OF.get(header, MECHANISM + 1)
    if re.match(r"(include/triage/)?workflow/", file) and (plugin or header == "triage"):
        return "a workflow names no store, policy or other plug-in"
    own = re.fullmatch(r"include/triage/(.+)\.hpp", file)
    if own and own[1] in FLOOR_OF:
        if floor > FLOOR_OF[own[1]]:
            return "which stands on a higher floor"
        return None
    if own and own[1] == "triage":
        return None
    if file.startswith("src/"):
        return "the core names no plug-in" if floor > MECHANISM else None
    part = re.match(r"(?:include/triage/)?(policies|stores|testing|llm|observers)/(.+)\.[ch]pp", file)
    if part:
        kind, name = part[1], part[2].split("/")[-1]
        if f"{kind}/{name}" == header or f"{kind}/{name}".startswith(header + "_"):
            return None
        if plugin and plugin[1] != kind:
            return f"{kind} know nothing of {plugin[1]}"
        if kind == "stores" and header in {"policy", "classifier", "classification"}:
            return "a store knows nothing of policies"
        if kind == "policies" and header in {"checkpoint_store", "journal", "record"}:
            return "a policy knows nothing of stores"
        if plugin and f"{kind}/{name}" not in COMBINERS and header not in SHARED \
                and kind not in {"testing", "llm"}:
            return "siblings never meet"
        if header == "triage" or floor > MECHANISM and not plugin or (floor == MECHANISM and kind != "testing"):
            return "a plug-in sees nothing above the seams"
        return None
    if own:
        return "a header on no floor: add it to FLOORS in tests/layers/check_tree.py"
    return None  # Assembly: cli, examples, tests, bench.


def room_of(file):
    """The room of a file below src/ or in a wing; empty if it is not in one."""
    return "/".join(file.split("/")[1:-1])


def of_same_wing(root, file, target):
    """The file of its own wing that `file` includes as `target`, or None."""
    wing = file.split("/")[0]
    for path in (f"{Path(file).parent.as_posix()}/{target}", f"{wing}/{target}", target):
        if wing in WINGS and path.startswith(wing + "/") and (root / path).is_file():
            return path
    return None


def may_enter(file, target):
    """Why `file` must not include `target` of the same wing, or None."""
    wing, room, other = file.split("/")[0], room_of(file), room_of(target)
    floor_of = ROOM_FLOOR[wing]
    for one in (room, other):
        if one not in floor_of:
            return f"the room \"{one}\" of {wing}/ stands on no floor: add it to tests/layers/check_tree.py"
    if room == other or (wing == "src" and {room, other} <= MECHANISM_ROOMS) or file == "cli/main.cpp":
        return None
    return None if floor_of[other] < floor_of[room] else f"the room {other or wing} does not lie below {room or wing}"


def may_reach(file, room):
    """Why `file` must not enter the room of src/, or None."""
    wing = file.split("/")[0]
    if wing in {"src", "include", "tests"} or room in REACH.get(wing, {}):
        return None
    return f"{wing}/ does not enter {room}: see REACH in tests/layers/check_tree.py"


def check_includes(root, file, text, problems):
    for target in INCLUDE.findall(text):
        ours = re.fullmatch(r"triage/(.+)\.hpp", target)
        if ours:
            why = may_include(file, ours[1])
            if why:
                problems.append(f"{file}: must not include {target}: {why}")
            continue
        for pattern, allowed in FOREIGN:
            if re.match(pattern, target) and not re.match(allowed, file):
                problems.append(f"{file}: must not include <{target}>")
        if (neighbour := of_same_wing(root, file, target)) and (why := may_enter(file, neighbour)):
            problems.append(f"{file}: must not include {target}: {why}")
        if file.startswith("include/") and (root / "src" / target).is_file():
            problems.append(f"{file}: a public header must not include the private {target}")
        if file.startswith("supervise/") and target.startswith("cli/"):
            problems.append(f"{file}: must not include {target}: the command stands above what it supervises with")
        if (root / "src" / target).is_file() and not (root / Path(file).parent / target).is_file() \
                and (why := may_reach(file, room_of(f"src/{target}"))):
            problems.append(f"{file}: must not include the private {target}: {why}")


def check_code(file, text, problems):
    lines = text.count("\n")
    if lines > max(MAX_LINES, LONG_FILES.get(file, 0)):
        problems.append(f"{file}: has {lines} lines, at most {MAX_LINES} are allowed")
    if not text.startswith("// SPDX-License-Identifier: MIT\n"):
        problems.append(f"{file}: the first line must be '// SPDX-License-Identifier: MIT'")
    if file.endswith(".hpp") and "\n#pragma once\n" not in text:
        problems.append(f"{file}: has no #pragma once")
    code = re.sub(r"//[^\n]*", "", text)
    for pattern, why in [
            (r"std::regex", "overflows the stack on long input; use RE2"),
            (r"\bthread_local\b", "all state of a run lives in its run"),
            (r"\bsrand\(|\brand\(\)", "randomness is injected")]:
        if re.search(pattern, code):
            problems.append(f"{file}: must not use {re.search(pattern, code)[0]}: {why}")
    if file.startswith("tests/") and file not in MAY_SLEEP and re.search(r"this_thread::sleep|\busleep\(|\bnanosleep\(", code):
        problems.append(f"{file}: tests do not sleep; use the simulated clock or wait on a condition")


def check_lists(file, text, problems):
    """Lists of sources in a CMake file are sorted, so that two branches that add to one seldom meet."""
    words = re.findall(r"[()]|[^\s()]+", re.sub(r"#[^\n]*", "", text))
    for folder, run in itertools.groupby(words, lambda word: (found := LISTED.fullmatch(word)) and (found[1] or "here")):
        names = list(run)
        for name, least in zip(names, sorted(names)) if folder else ():
            if name != least:
                problems.append(f"{file}: {least} must be listed before {name}")
                break


def check_precompiled(file, text, problems):
    """A compiler cache does not see a changed comment, and serves the header as it was precompiled before; compilers
    then take the changed one for another file, and read it twice."""
    code = re.sub(r"#[^\n]*", "", text)
    for names in re.findall(r"target_precompile_headers\(\S+\s+(?:PRIVATE|INTERFACE|PUBLIC)([^)]*)\)", code):
        for name in names.split():
            if not re.match(r"<|\$\{\w+\}$", name):
                problems.append(f"{file}: must not precompile {name}: precompile system headers only")


def check_text(file, text, problems):
    found = re.search(r"\b(TODO|FIXME|XXX)\b", text)
    if found:
        problems.append(f"{file}:{text[:found.start()].count(chr(10)) + 1}: contains {found[0]}")
    if file.startswith(("include/", "docs/")) and (found := TRY.search(text)):
        problems.append(f"{file}:{text[:found.start()].count(chr(10)) + 1}: says \"{found[0]}\": say attempt or retry")


def check_tree(root):
    problems = []
    for file in files_in(root, CODE_DIRS, {".cpp", ".hpp"}):
        text = (root / file).read_text(encoding="utf-8")
        check_includes(root, file, text, problems)
        check_code(file, text, problems)
    for file in files_in(root, TEXT_DIRS):
        if not file.startswith("tests/layers/") and "__pycache__" not in file:
            check_text(file, (root / file).read_bytes().decode("utf-8", "replace"), problems)
    for file in ["CMakeLists.txt", *files_in(root, TEXT_DIRS)]:
        if file.endswith((".cmake", "CMakeLists.txt")) and (root / file).is_file():
            text = (root / file).read_text(encoding="utf-8")
            check_lists(file, text, problems)
            check_precompiled(file, text, problems)
    return problems


if __name__ == "__main__":
    found_problems = check_tree(Path(sys.argv[1]))
    for problem in found_problems:
        print(problem)
    sys.exit(1 if found_problems else 0)
