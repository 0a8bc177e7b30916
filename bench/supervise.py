#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of `triage run`: attempts, step lines, acknowledged lines, many runs at once, a long list of runs.

Usage: bench/supervise.py TRIAGE [attempts|lines|acknowledged|batches|list …]
Prints one line per figure. Baselines are measured in the same run, alternating with what they are compared to.
"""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TRIAGE = os.path.abspath(sys.argv[1])
ASK = """
import json, os, socket, statistics, time
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["TRIAGE_SOCKET"]); lines = s.makefile("rb")
took = []
for i in range(5000):
    line = json.dumps({"id": i, "state": {"page": i}}).encode() + b"\\n"
    begin = time.perf_counter(); s.sendall(line); answer = lines.readline(); took.append(time.perf_counter() - begin)
    assert json.loads(answer)["ok"], answer
took.sort()
print(took[len(took) // 2] * 1e6, took[len(took) * 99 // 100] * 1e6)
"""


def seconds(command, **options):
    begin = time.perf_counter()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    return time.perf_counter() - begin


def costs(command):
    """Elapsed and processor time, in milliseconds."""
    before, elapsed = os.times(), seconds(command)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return elapsed * 1000, used * 1000


def attempts(folder):
    """Time of an attempt beyond that of `env CMD`, in alternating blocks of 40."""
    policy = folder / "p.json"
    policy.write_text('{"default": {"strategy": "retry", "max_attempts": 41}}')
    command = ["sh", "-c", "echo; exec false"]
    beyond = []
    for block in range(5):
        plain = [costs(["env", *command]) for _ in range(40)]
        store = ["--store", str(folder / f"attempts{block}.db"), "--quiet", "--start-ups", "1000", "--policy", str(policy)]
        one = costs([TRIAGE, "run", *store, "--max-attempts", "1", "--", *command])
        many = costs([TRIAGE, "run", *store, "--max-attempts", "41", "--", *command])
        beyond.append([(many[i] - one[i] - sum(each[i] for each in plain)) / 40 for i in (0, 1)])
    elapsed, used = (statistics.median(each[i] for each in beyond) for i in (0, 1))
    print(f"attempt beyond env CMD: {elapsed:.2f} ms elapsed (goal 5), {used:.2f} ms of processor time")


def lines(folder, number=500_000):
    """Step lines per second of a child, in order and without loss."""
    write = f'awk \'BEGIN {{ for (i = 0; i < {number}; i++) print "{{\\"step\\": \\"s" i "\\"}}" }}\''
    rates = []
    for round_ in range(3):
        plain = seconds(["sh", "-c", write + " | cat > /dev/null"])
        store = str(folder / f"lines{round_}.db")
        took = seconds([TRIAGE, "run", "--store", store, "--run", "r", "--", "sh", "-c", write + " > /dev/fd/$TRIAGE_FD"])
        shown = subprocess.run([TRIAGE, "checkpoint", "show", "--store", store, "r", "--steps", "1000", "--json"], capture_output=True, check=True)
        steps = json.loads(shown.stdout)["steps"]
        assert [step["action"] for step in steps] == [f"s{i}" for i in range(number - 1000, number)]
        assert [step["index"] for step in steps] == list(range(number - 1000, number))
        rates.append((number / took, plain / took))
    rate, ratio = statistics.median(rates)
    print(f"step lines: {rate:,.0f} a second (goal 100,000), {ratio:.2f} of a pipe to cat")


def acknowledged(folder):
    program = folder / "ask.py"
    program.write_text(ASK)
    ran = subprocess.run([TRIAGE, "run", "--store", str(folder / "ack.db"), "--", "python3", str(program)], capture_output=True, text=True, check=True)
    median, slow = (float(word) for word in ran.stdout.split())
    print(f"acknowledged line: p50 {median:.0f} µs (goal 100), p99 {slow:.0f} µs")


def batches(folder):
    """1,000 short runs, 50 at a time, on one store: all end and leave nothing behind."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    store = str(folder / "batches.db")
    work = f"sh -c 'setsid sleep 1000 & echo {folder.name}'"

    def one(_):
        command = [TRIAGE, "run", "--store", store, "--", "sh", "-c", work]
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

    begin = time.perf_counter()
    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(one, range(1000)))
    took = time.perf_counter() - begin
    listed = json.loads(subprocess.run([TRIAGE, "runs", "--store", store, "--limit", "0", "--json"], capture_output=True, check=True).stdout)
    finished = sum(run["status"] == "finished" for run in listed["runs"])
    left = 0
    for process in Path("/proc").glob("[0-9]*/environ"):
        try:
            left += f"XDG_RUNTIME_DIR={runtime}".encode() in process.read_bytes()
        except OSError:
            pass
    files = sorted(path.name for path in folder.iterdir() if path.name.startswith("batches"))
    print(f"1,000 runs, 50 at a time: {took:.1f} s, {statuses.count(0)} ended well, {finished} finished in the store; "
          f"left: {left} processes, {len(list(runtime.iterdir()))} folders; files: {' '.join(files)}")


def listing(folder):
    """`triage runs` over 10,000 runs, all copies of one."""
    store = folder / "list.db"
    subprocess.run([TRIAGE, "run", "--store", str(store), "--run", "r", "--", "true"], check=True)
    fill = ["--store", str(store)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: seconds([TRIAGE, "run", *fill, "--run", f"r{i}", "--", "true"]), range(int(os.environ.get("RUNS", "9999")))))
    for options in ([], ["--limit", "0"], ["--status", "died"], ["--sort", "updated"]):
        took = statistics.median(seconds([TRIAGE, "runs", *fill, *options]) for _ in range(5)) * 1000
        print(f"triage runs {' '.join(options)}: {took:.0f} ms (goal 100)")


def main():
    figures = {"attempts": attempts, "lines": lines, "acknowledged": acknowledged, "batches": batches, "list": listing}
    with tempfile.TemporaryDirectory() as name:
        for word in sys.argv[2:] or figures:
            figures[word](Path(name))


if __name__ == "__main__":
    main()
