# SPDX-License-Identifier: MIT
"""scripts/eval_outside on four made-up runs whose scores are known, with a stand-in for the classifier."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts/eval_outside"


def say(agent):
    return {"agent_id": agent, "action": "say", "llm_output": "x"}


def ran(output):
    return {"agent_id": "shell", "action": "act", "tool_called": "shell", "tool_output": output}


RUNS = [
    [say("boss"), say("coder"), ran("exitcode: 0"), say("coder"), ran("exitcode: 1 (execution failed)")],
    [say("boss"), say("coder"), ran("Traceback (most recent call last):\n  …\nKeyError: 'a'"), say("boss")],
    [say("boss"), say("coder"), say("boss")],
    [say("boss"), {**ran("Error: no such order"), "agent_id": "coder", "tool_input": {"id": 1}}, say("boss")],
]
LABELS = [3, 1, 2, 1]
SECOND = [3, 1, 0, 0]
ANSWERS = [(3, 0.9), (0, 0.6), (None, None), (1, 0.4)]
EXPECTED = {
    "second step": ["100.0 %", "50.0 %", "15 to 85 %", "75.0 %", "100.0 %", "75.0 %"],
    "last step": ["100.0 %", "25.0 %", "5 to 70 %", "75.0 %", "100.0 %", "25.0 %"],
    "first that raised, else second": ["100.0 %", "75.0 %", "30 to 95 %", "100.0 %", "100.0 %", "75.0 %"],
    "triage": ["75.0 %", "50.0 %", "15 to 85 %", "75.0 %", "75.0 %", "50.0 %"],
    "`made_up`": ["4", "75.0 %", "66.7 % (21 to 94)", "50.0 %", "50.0 % (9 to 91)", "25.0 %", "100.0 % (21 to 100)"],
}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "made_up.jsonl", [{"error": "the answer is wrong", "steps": steps} for steps in RUNS])
        agents = [[step["agent_id"] for step in steps] for steps in RUNS]
        write(folder / "made_up.labels.jsonl",
              [{"step": step, "agent": who[step].upper(), "agents": who} for step, who in zip(LABELS, agents)])
        write(folder / "made_up.second.jsonl", [{"step": step} for step in SECOND])
        answers = "".join(json.dumps({"critical_step": step, "critical_step_confidence": sure}) + "\n"
                          for step, sure in ANSWERS)
        stand_in = folder / "triage"
        stand_in.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\nprint({answers!r}, end='')\n",
                            encoding="utf-8")
        stand_in.chmod(0o755)
        told = subprocess.run([sys.executable, str(SCRIPT), str(folder), "--tool", str(stand_in)], capture_output=True,
                              text=True, check=True).stdout
    table = {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.strip("| ").split("|")]
                                               for line in told.splitlines() if line.startswith("| "))}
    wrong = [f"{name}: {table.get(name)} instead of {cells}" for name, cells in EXPECTED.items() if table.get(name) != cells]
    if "the same step in 50.0 %" not in told:
        wrong.append("the agreement of the two teams is not 50.0 %")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
