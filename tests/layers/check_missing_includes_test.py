# SPDX-License-Identifier: MIT
"""Plants missing includes in a temporary tree and expects each to be found, and nothing else."""
import sys

sys.dont_write_bytecode = True
from check_missing_includes import Tree  # noqa: E402
from planting import judge  # noqa: E402

CLEAN = {
    "include/triage/limits.hpp": "struct Limits {};\n",
    "include/triage/policy.hpp": '#include "triage/limits.hpp"\nclass Attempt;\nclass Policy final : public Base {\n  Limits limits(Attempt&);\n};\n',
    "include/triage/attempt.hpp": "class Attempt {};\n",
    "include/triage/lab/world.hpp": "template <class... Attempt>\nvoid f(Attempt...);\n",
    "src/run/loop.hpp": '#include "triage/policy.hpp"\n#include <condition_variable>\n#include <optional>\n',
    "src/run/loop.cpp": '#include "run/loop.hpp"\nstd::optional<Policy> f(std::mutex&);\n// std::vector<Attempt>\nauto text = "std::map";\n',
    "tools/fit.cpp": '#include "loop.hpp"\n',
    "training/loop.hpp": '#include "triage/limits.hpp"\n',
}

# file, text, expected message
PLANTED = [
    ("src/run/loop.cpp", '#include "run/loop.hpp"\nstd::vector<int> f();\n', "src/run/loop.cpp: uses std::vector without <vector>"),
    ("src/run/loop.cpp", "Policy f();\n",
     "src/run/loop.cpp: uses Policy without include/triage/policy.hpp"),
    ("include/triage/attempt.hpp", "class Attempt { Limits most; };\n", "include/triage/attempt.hpp: uses Limits without include/triage/limits.hpp"),
    ("include/triage/limits.hpp", "struct Limits { std::string name; };\n",
     "include/triage/limits.hpp: uses std::string without <string>"),
]

sys.exit(judge(lambda root: list(Tree(root).problems()), CLEAN, PLANTED))
