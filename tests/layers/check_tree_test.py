# SPDX-License-Identifier: MIT
"""Plants one violation after another in a temporary tree and expects each to be found, and nothing else."""
import sys

sys.dont_write_bytecode = True
from check_tree import check_tree  # noqa: E402
from planting import judge  # noqa: E402

HEAD = "// SPDX-License-Identifier: MIT\n"
HEADER = HEAD + "#pragma once\n"

CLEAN = {
    "include/triage/result.hpp": HEADER + "#include <boost/outcome/result.hpp>\n",
    "include/triage/policy.hpp": HEADER + '#include "triage/result.hpp"\n',
    "include/triage/agent.hpp": HEADER + '#include "triage/policy.hpp"\n',
    "include/triage/policies/retry.hpp": HEADER + '#include "triage/policy.hpp"\n',
    "include/triage/stores/sqlite.hpp": HEADER + '#include "triage/checkpoint_store.hpp"\n',
    "policies/documents/registry.cpp": HEAD + '#include "triage/policies/retry.hpp"\n',
    "stores/sqlite/sqlite.cpp": HEAD + '#include "triage/stores/sqlite.hpp"\n#include <SQLiteCpp/SQLiteCpp.h>\n',
    "src/run/run_loop.cpp": HEAD + '#include "triage/agent.hpp"\n#include "run/run.hpp"\n',
    "src/run/run.hpp": HEADER,
    "src/base/run_catching.hpp": HEADER,
    "src/journal/record_body.hpp": HEADER,
    "src/effects/effects.hpp": HEADER,
    "src/evidence/findings.hpp": HEADER,
    "src/storage/busy_run.hpp": HEADER,
    "src/effects/effects.cpp": HEAD + '#include "base/run_catching.hpp"\n#include "run/run.hpp"\n',
    "workflow/driver/driver.hpp": HEADER + '#include "base/run_catching.hpp"\n#include "run/run.hpp"\n',
    "workflow/views/inspect.cpp": HEAD + '#include "driver/driver.hpp"\n',
    "supervise/protocol/protocol.hpp": HEADER,
    "supervise/supervisor.cpp": HEAD + '#include "supervise/protocol/protocol.hpp"\n',
    "cli/arguments/open_store.hpp": HEADER,
    "cli/commands/command.hpp": HEADER + '#include "arguments/open_store.hpp"\n',
    "cli/main.cpp": HEAD + '#include <CLI/CLI.hpp>\n#include "arguments/open_store.hpp"\n#include "triage/triage.hpp"\n',
    "tools/eval_classifier.cpp": HEAD + '#include "evidence/findings.hpp"\n',
    "tests/retry.test.cpp": HEAD + '#include "run/run.hpp"\n// no std::regex, no thread_local here\n',
    "scripts/setup": "#!/bin/sh\n",
    "CMakeLists.txt": "add_library(it a.cpp b.cpp)\nadd_library(other\n  a.cpp  # Why.\n  a/b.cpp\n  a_b.cpp ${HERE}/a.cpp)\n"
        "target_precompile_headers(it PRIVATE ${others} <map>)\n",
}

# file, text, expected message
PLANTED = [
    ("include/triage/result.hpp", HEADER + '#include "triage/policy.hpp"\n', "higher floor"),
    ("include/triage/policy.hpp", HEADER + '#include "triage/agent.hpp"\n', "higher floor"),
    ("include/triage/agent.hpp", HEADER + '#include "triage/policies/retry.hpp"\n', "higher floor"),
    ("include/triage/agent.hpp", HEADER + '#include "run/run.hpp"\n', "private run/run.hpp"),
    ("include/triage/novelty.hpp", HEADER + '#include "triage/result.hpp"\n', "on no floor"),
    ("src/run/run_loop.cpp", HEAD + '#include "triage/stores/sqlite.hpp"\n', "names no plug-in"),
    ("src/run/run_loop.cpp", HEAD + '#include "triage/novelty.hpp"\n', "on no floor"),
    ("src/base/run_catching.hpp", HEADER + '#include "run/run.hpp"\n', "does not lie below base"),
    ("src/storage/commit_queue.cpp", HEAD + '#include "run/run.hpp"\n', "does not lie below storage"),
    ("src/evidence/codes.cpp", HEAD + '#include "journal/record_body.hpp"\n', "does not lie below evidence"),
    ("src/attic/junk.cpp", HEAD + '#include "base/run_catching.hpp"\n', "\"attic\" of src/ stands on no floor"),
    ("workflow/definition/plan.cpp", HEAD + '#include "driver/driver.hpp"\n', "driver does not lie below definition"),
    ("workflow/attic/junk.cpp", HEAD + '#include "driver/driver.hpp"\n', "\"attic\" of workflow/ stands on no floor"),
    ("supervise/process/child.cpp", HEAD + '#include "supervise/protocol/protocol.hpp"\n', "protocol does not lie below process"),
    ("cli/render/output.cpp", HEAD + '#include "arguments/open_store.hpp"\n', "arguments does not lie below render"),
    ("cli/documents/reader.cpp", HEAD + '#include "commands/command.hpp"\n', "commands does not lie below documents"),
    ("stores/memory/memory.cpp", HEAD + '#include "triage/policies/retry.hpp"\n', "know nothing of policies"),
    ("stores/memory/memory.cpp", HEAD + '#include "triage/policy.hpp"\n', "knows nothing of policies"),
    ("stores/memory/memory.cpp", HEAD + '#include "triage/stores/sqlite.hpp"\n', "siblings never meet"),
    ("stores/memory/memory.cpp", HEAD + '#include "triage/agent.hpp"\n', "above the seams"),
    ("policies/strategies/stop.cpp", HEAD + '#include "triage/stores/sqlite.hpp"\n', "know nothing of stores"),
    ("policies/strategies/stop.cpp", HEAD + '#include "triage/checkpoint_store.hpp"\n', "knows nothing of stores"),
    ("policies/strategies/stop.cpp", HEAD + '#include "triage/policies/retry.hpp"\n', "siblings never meet"),
    ("testing/clock.cpp", HEAD + '#include "triage/stores/sqlite.hpp"\n', "know nothing of stores"),
    ("stores/memory/memory.cpp", HEAD + "#include <SQLiteCpp/Database.h>\n", "SQLiteCpp/Database.h"),
    ("src/base/json.cpp", HEAD + "#include <re2/re2.h>\n", "re2/re2.h"),
    ("src/base/json.cpp", HEAD + "#include <sodium.h>\n", "sodium.h"),
    ("src/base/json.cpp", HEAD + "#include <httplib.h>\n", "httplib.h"),
    ("llm/protocol.cpp", HEAD + "#include <curl/curl.h>\n", "curl/curl.h"),
    ("llm/http.cpp", HEAD + '#include "triage/policies/retry.hpp"\n', "know nothing of policies"),
    ("policies/strategies/stop.cpp", HEAD + '#include "triage/llm/classifier.hpp"\n', "know nothing of llm"),
    ("src/base/json.cpp", HEAD + "#include <regex>\n", "<regex>"),
    ("examples/crawl.cpp", HEAD + "#include <CLI/CLI.hpp>\n", "CLI/CLI.hpp"),
    ("cli/list.cpp", HEAD + '#include "run/run.hpp"\n', "private run/run.hpp"),
    ("workflow/driver/driver.cpp", HEAD + '#include "effects/effects.hpp"\n', "workflow/ does not enter effects"),
    ("lab/replay/replay.cpp", HEAD + '#include "storage/busy_run.hpp"\n', "lab/ does not enter storage"),
    ("supervise/process/child.cpp", HEAD + '#include "base/run_catching.hpp"\n', "supervise/ does not enter base"),
    ("policies/strategies/stop.cpp", HEAD + '#include "run/run.hpp"\n', "policies/ does not enter run"),
    ("stores/memory/memory.cpp", HEAD + '#include "run/run.hpp"\n', "stores/ does not enter run"),
    ("testing/clock.cpp", HEAD + '#include "base/run_catching.hpp"\n', "testing/ does not enter base"),
    ("training/trainer.cpp", HEAD + '#include "run/run.hpp"\n', "training/ does not enter run"),
    ("tools/fit_blame.cpp", HEAD + '#include "run/run.hpp"\n', "tools/ does not enter run"),
    ("tools/fit_blame.cpp", HEAD + "#include <sodium.h>\n", "sodium.h"),
    ("tools/fit_blame.cpp", HEAD + "\n" * 400, "401 lines"),
    ("src/base/json.cpp", HEAD + "bool f() { return std::regex_match(a, b); }\n", "std::regex"),
    ("src/base/json.cpp", HEAD + "thread_local int depth = 0;\n", "thread_local"),
    ("src/base/json.cpp", "// some file\n", "SPDX"),
    ("src/base/json.cpp", HEAD + "\n" * 400, "401 lines"),
    ("src/json.hpp", HEAD, "#pragma once"),
    ("tests/base/json.test.cpp", HEAD + "void f() { std::this_thread::sleep_for(1s); }\n", "do not sleep"),
    ("scripts/setup", "#!/bin/sh\n# TODO: write this\n", "setup:2: contains TODO"),
    ("docs/events.md", "FIXME\n", "contains FIXME"),
    ("CMakeLists.txt", "add_library(it a.cpp c.cpp b.cpp)\n", "b.cpp must be listed before c.cpp"),
    ("lab/CMakeLists.txt", "add_library(lab\n  HEADERS\n    b.hpp\n    a.hpp)\n", "a.hpp must be listed before b.hpp"),
    ("cmake/more.cmake", "set(those ${HERE}/b.cpp ${HERE}/a.cpp)\n", "${HERE}/a.cpp must be listed before ${HERE}/b.cpp"),
    ("lab/CMakeLists.txt", "target_precompile_headers(lab PRIVATE <map>\n  ${HERE}/b.hpp)\n", "must not precompile ${HERE}/b.hpp"),
    ("lab/CMakeLists.txt", "target_precompile_headers(lab PRIVATE base/b.hpp)\n", "must not precompile base/b.hpp"),
]

sys.exit(judge(check_tree, CLEAN, PLANTED))
