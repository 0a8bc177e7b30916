# SPDX-License-Identifier: MIT
"""scripts/bench_peers on a machine without any client of a registry, and its medians and ratios on made-up figures."""
import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts/bench_peers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))  # Its modules.


def stand_in(folder, name, figures):
    """A program that prints one figure after the other, whatever it is told, and nothing for `prepare`."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport pathlib, sys\nseen = pathlib.Path({str(folder / (name + '.calls'))!r})\n"
                       f"calls = len(seen.read_text()) if seen.exists() else 0\nif sys.argv[1] != 'prepare':\n"
                       f"    seen.write_text('x' * (calls + 1))\n    print({figures}[calls % {len(figures)}])\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def without_clients(folder):
    empty = folder / "empty"
    empty.mkdir()
    done = subprocess.run([sys.executable, SCRIPT, "--scratch", folder / "scratch", "--program", stand_in(folder, "triage", [250.0]),
                           "--rounds", "1"], env={"PATH": str(empty)}, capture_output=True, text=True, check=True)
    skipped = done.stderr.splitlines()
    assert len(skipped) == 4 and all(" without " in line and "there is no " in line for line in skipped), done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 6 and all(line.endswith("| 250 ns | – |") for line in rows), done.stdout


def medians(folder):
    loader = importlib.machinery.SourceFileLoader("bench_peers", str(SCRIPT))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_peers", loader))
    loader.exec_module(script)
    script.ROWS = [("a step", "steps-power", 10, [("fast", "steps-power", 10), ("slow", "steps-power", 10), ("missing", "steps-power", 10)])]
    commands = {"fast": [stand_in(folder, "fast", [100.0, 9e9, 120.0])], "slow": [stand_in(folder, "slow", [4e5, 3e5, 5e5])]}
    rows = script.measured(stand_in(folder, "ours", [2000.0, 1000.0, 500.0]), commands, folder / "scratch", 3)
    assert rows == [("a step", 1000.0, [("fast", 120.0, 0.12), ("slow", 4e5, 400.0)])], rows
    assert "| a step | 1 µs | fast 120 ns (0.12 ×); slow 400 µs (400 ×) |" in script.report(rows, 3)


if __name__ == "__main__":
    for check in (without_clients, medians):
        with tempfile.TemporaryDirectory() as name:
            check(Path(name))
