# SPDX-License-Identifier: MIT
"""What the evaluations count in the answers of the classifier."""
import json
import subprocess
import sys

GROUPS = {
    "routing-sensitive": ["wrong_tool_called", "schema_mismatch", "context_overflow", "plan_incomplete"],
    "self-healing": ["external_fault", "timeout"],
    "never retry": ["access_denied", "quota_exhausted", "refused", "crashed"],
    "the others": ["constraint_ignored", "loop_detected"],
}


def types_of(tool, failures):
    """The types that `triage classify` gives, in order."""
    lines = "".join(json.dumps(failure) + "\n" for failure in failures)
    answered = subprocess.run([str(tool), "classify"], input=lines, capture_output=True, text=True, check=False)
    types = [json.loads(line).get("type") for line in answered.stdout.splitlines()]
    if len(types) != len(failures):
        sys.exit(f"{tool} classify: {answered.stderr.strip()}")
    return types


def judged(tool, corpus, folds):
    """The rows of a corpus with the answers of models that have seen no row of their origin, by eval_classifier."""
    answered = subprocess.run([str(tool), str(corpus)] + ([str(folds)] if folds else []), capture_output=True, text=True,
                              check=False)
    if answered.returncode != 0:
        sys.exit(answered.stderr.strip())
    return [json.loads(line) for line in answered.stdout.removesuffix("\n").split("\n")]


def misrouted(rows, system):
    return sum(row[system]["type"] not in ("unknown", row["label"]) for row in rows), len(rows)
