#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns Google Benchmark's JSON into the table of docs/performance.md: row, goal, figure, reached or missed.

Usage: report.py [--write FILE] [--data-on FILESYSTEM] JSON...
  --write FILE      also replaces the text between the markers in FILE
  --data-on NAME    the file system that the databases were on, for the line about the machine
Exits with 0 whether or not all goals are reached, and with 1 if a figure is missing.
"""

import argparse
import datetime
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from pages import write_between  # noqa: E402

BEGIN = "<!-- table: written by scripts/bench -->"
END = "<!-- end of table -->"


class Row(NamedTuple):
    what: str
    goal: str
    benchmark: str  # The benchmark's name in the JSON.
    counter: str
    limit: float
    unit: str = ""
    at_least: bool = False  # The limit is a minimum instead of a maximum.
    beside: str = ""  # Another counter, printed after the figure; "{}" is its value.
    beside_text: str = ""


def at_most(what, goal, benchmark, counter, limit, unit="", beside="", beside_text=""):
    return Row(what, goal, benchmark, counter, limit, unit, False, beside, beside_text)


def at_least(what, goal, benchmark, counter, limit, unit="", beside="", beside_text=""):
    return Row(what, goal, benchmark, counter, limit, unit, True, beside, beside_text)


SHAPES = ("flat", "structured")

ROWS = [
    at_most("`run()` of a callable that records nothing, five policies, no store, no deadline",
            "≤ 10 ns over the bare call", "plain_run", "over_ns", 10, "ns", "bare_ns", "bare call {} ns"),
    at_most("… its heap allocations", "0", "plain_run", "allocations", 0),
    at_most("the same with deadline, stop token and observer", "≤ 60 ns over the bare call",
            "guarded_run", "over_ns", 60, "ns"),
    at_most("failing attempt → next attempt: returned failure, no classifier, no store; first failure of a run",
            "≤ 0.5 µs", "failing_attempt/1", "each_us", 0.5, "µs"),
    at_most("… mean of a run's first four failures", "≤ 0.5 µs", "failing_attempt/4", "each_us", 0.5, "µs"),
    at_most("a run that fails once, then succeeds: a status (503) is returned", "≤ 1 µs", "fail_once/returned", "us", 1, "µs"),
    at_most("… an exception is thrown", "≤ 3 µs", "fail_once/thrown", "us", 3, "µs"),
    at_most("… returned, without a classifier", "≤ 0.3 µs", "fail_once/unclassified", "us", 0.3, "µs"),
    at_most("`run()` behind a circuit breaker, with a deadline", "≤ 100 ns over the bare call", "breaker_run",
            "over_ns", 100, "ns"),
    at_most("a call behind `lab::Chaos` that has no rules", "≤ 2 ns over the bare call", "chaos_idle", "over_ns", 2, "ns"),
    at_least("simulated events on one core, an agent of ten steps", "≥ 200,000 a second", "experiment_over_simulation",
             "events_per_second", 200_000, "", "bare_us", "a run of ten steps {} µs"),
    at_most("an experiment over its simulation, by processor time", "≤ 1.10 ×", "experiment_over_simulation", "ratio", 1.10, "×"),
    at_most("1,000,000 simulated runs of ten steps, as `triage experiment` does it, two threads", "≤ 60 s", "million_runs",
            "seconds", 60, "s", "cpu_seconds", "{} s of processor time"),
    at_most("deadline overrun of a cooperative callable, p99 of 10,000 runs", "≤ 1.2 × a bare loop with the same sleeps",
            "deadline_overrun", "ratio", 1.2, "×", "bare_p99_us", "bare loop {} µs"),
    at_most("classification of a 1 KB failure by codes and rules", "≤ 5 µs (p50)", "classify_1_kb",
            "p50_us", 5, "µs", "p99_us", "p99 {} µs"),
    at_most("classification of a 1 KB failure by all of it, the text model too", "≤ 30 µs (p50)",
            "classify_1_kb_by_all", "p50_us", 30, "µs"),
    at_most("first classification of a process: \"HTTP 503 Service Unavailable\"", "≤ 2 ms", "first_failure/text", "p50_ms", 2,
            "ms", "heap_mb", "heap {} MB"),
    at_most("… a status without text", "≤ 2 ms", "first_failure/code", "p50_ms", 2, "ms", "heap_mb", "heap {} MB"),
    at_most("… of 1 KB in colours, a log line, JSON and a traceback", "≤ 15 µs (p50)", "classify_dressed",
            "p50_us", 15, "µs"),
    at_most("classification of a 10 MB failure", "≤ 200 ms", "classify_10_mb", "slowest_ms", 200, "ms"),
    *[at_most("`record_step`, 1 KB moved in, auto-checkpoint, memory" + f": run of {n:,} steps", "≤ 0.2 µs",
              f"record_step/{n}", "each_ns", 200, "ns", "vector_ns", "a vector {} ns")
      for n in (100, 1_000, 10_000, 100_000)],
    at_most("`effect` with a recorded result, memory store", "≤ 1 µs", "effect_reused/0", "each_us", 1, "µs"),
    at_most("… that has arguments", "≤ 1 µs", "effect_reused/1", "each_us", 1, "µs"),
    *[at_most(f"10,000 steps on SQLite, `process`, `background`, {shape}: the caller", "≤ 1 µs a step",
              f"background/{i}", "caller_us", 1, "µs") for i, shape in enumerate((*SHAPES, "structured as JSON text"))],
    *[at_most(f"… in all, {shape}, log checkpointed", "≤ 10 µs a step", f"background/{i}", "all_us", 10, "µs")
      for i, shape in enumerate(SHAPES)],
    at_most("10,000 steps on SQLite, `process`, `immediate`", "≤ 40 µs a step", "immediate", "all_us", 40,
            "µs", "raw_us", "raw INSERTs {} µs"),
    *[at_least(f"SQLite group append of encoded records, groups of {group}, {shape}",
               "≥ 0.8 of raw INSERTs", f"append/{group}/{i}", "ratio", 0.8, "", "raw_us", "raw {} µs a record")
      for i, shape in enumerate(SHAPES) for group in (64, 1024)],
    *[at_least(f"… end to end, groups of {group}, {shape}", "≥ 0.7 of raw INSERTs",
               f"end_to_end/{group}/{i}", "ratio", 0.7, "", "raw_us", "raw {} µs a record")
      for i, shape in enumerate(SHAPES) for group in (64, 1024)],
    at_most("drain after one step, `process`", "≤ 20 µs (p50)", "drain_process", "p50_us", 20, "µs",
            "p99_us", "p99 {} µs"),
    at_most("drain after one step, `power`, new file", "≤ 1.2 × one fsync", "drain_power/0", "ratio", 1.2, "×",
            "fsync_us", "one fsync {} µs"),
    at_most("drain after one step, `power`, file in use", "≤ 1.2 × one fsync", "drain_power/1", "ratio", 1.2,
            "×", "fsync_us", "one fsync {} µs"),
    *[at_most(f"10,000 auto-checkpointed steps, {shape}: memory", "≤ 1.2 × the steps + 64 B each",
              f"memory_of_steps/{i}", "ratio", 1.2, "×") for i, shape in enumerate(SHAPES)],
    *[at_most(f"… file, {shape}", "≤ 1.3 × encoded", f"file_of_steps/{i}", "file_ratio", 1.3, "×")
      for i, shape in enumerate(SHAPES)],
    *[at_most(f"… bytes written, {shape}", "≤ 3.2 × encoded", f"file_of_steps/{i}", "written_ratio", 3.2, "×")
      for i, shape in enumerate(SHAPES)],
    at_most("restore from a 10,000-step run: state", "≤ 0.5 ms", "restore_state", "ms", 0.5, "ms"),
    at_most("… `resume_run` until the attempt has started", "≤ 5 ms", "resume", "ms", 5, "ms"),
    at_most("… all steps decoded", "≤ 1.2 × scan and decode", "restore_all_steps", "ratio", 1.2, "×",
            "baseline_ms", "scan and decode {} ms"),
    at_least("10,000 runs open at once on one SQLite store, 8 threads", "≥ 0.7 of one run's steps a second",
             "many_runs", "ratio", 0.7, "", "many_steps_a_second", "{} steps a second"),
    at_most("… memory a run beyond its data", "≤ 4 KB", "many_runs", "bytes_a_run", 4096, "B"),
    at_least("8 threads that wait for each step, on one SQLite store, `process`", "≥ 2 × one thread's steps a second",
             "waiting_threads/8/0", "ratio", 2, "×", "many_steps_a_second", "{} steps a second"),
    at_least("… `power`", "≥ 2 × one thread's steps a second", "waiting_threads/8/1", "ratio", 2, "×",
             "many_steps_a_second", "{} steps a second"),
    at_most("workflow: a delivery, 100 executors in 100 supersteps, two threads, no store", "≤ 2 µs", "workflow_delivery",
            "each_us", 2, "µs"),
    at_most("… beside a bare pool of two threads with one queue", "≤ 1.5 ×", "workflow_delivery", "ratio", 1.5, "×",
            "bare_us", "bare {} µs a job"),
    at_most("… beside one that waits for each superstep, as a workflow does", "≤ 1.5 ×", "workflow_delivery", "stepped_ratio", 1.5, "×",
            "stepped_us", "bare {} µs a job"),
    at_most("workflow of 10,000 executors: built, run and stored on SQLite", "≤ 1 s", "workflow_nodes", "all_ms", 1000, "ms"),
    at_most("… resumed behind 10,000 deliveries, until the first executor", "≤ 50 ms", "workflow_resume", "ms", 50, "ms"),
    at_least("… its records through the store, in the same groups", "≥ 0.8 of raw INSERTs", "workflow_appends", "ratio",
             0.8, "", "raw_us", "raw {} µs a record"),
    at_most("1,000 tasks with checkpoints of `all`: time", "≤ 1.1 × `task_completed`", "workflow_all", "time_ratio", 1.1, "×"),
    at_most("… bytes", "≤ 1.2 × `task_completed`", "workflow_all", "bytes_ratio", 1.2, "×"),
]
KILL = ("kill -9 at any moment", "nothing acknowledged is lost, no effect runs twice",
        "`tests/crash`: 30 kills, and 20 at each of 22 points around an effect, in `scripts/test`; 300 and 1,000 each in "
        "`scripts/torture`", "see there")


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 3 if abs(value) < 100 else 4
    return f"{value:.{digits}g}"


def medians(files):
    """The median of every benchmark's counters, by benchmark and counter."""
    found = {}
    for name in files:
        with open(name, encoding="utf-8") as file:
            for run in json.load(file)["benchmarks"]:
                if run.get("error_occurred"):
                    print(f"report: {run['name']}: {run.get('error_message')}", file=sys.stderr)
                if run.get("run_type") != "aggregate" or run.get("aggregate_name") != "median":
                    continue
                base = run["run_name"].removesuffix("/iterations:1")
                found[re.sub(r"/(iterations|repeats):\d+", "", base)] = run
    return found


def verdict(row, figure):
    good = figure >= row.limit if row.at_least else figure <= row.limit
    if good:
        return "reached"
    if row.limit == 0:
        return "missed"
    by = abs(figure - row.limit) / row.limit
    return f"missed by {by:.0%}"


def line(row, found):
    run = found.get(row.benchmark)
    if run is None or row.counter not in run:
        return row.what, row.goal, "not measured", "missed"
    figure = run[row.counter]
    text = f"{number(figure)} {row.unit}".strip()
    if row.beside:
        text += f" ({row.beside_text.format(number(run[row.beside]))})"
    return row.what, row.goal, text, verdict(row, figure)


def machine(file_system):
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for entry in info:
                if entry.startswith("model name"):
                    model = re.sub(r"\(R\)|\(TM\)", "", entry.split(":", 1)[1]).strip()
                    break
    except OSError:
        pass
    cores = os.cpu_count()
    return (f"Measured on {datetime.date.today().isoformat()}: {cores} cores, {model}, "
            f"{platform.system()}, {file_system} file system; "
            f"load average {os.getloadavg()[1]:.1f} (other programs' work makes the figures worse).")


def table(lines):
    head = ("row", "goal", "figure", "verdict")
    widths = [max(len(entry[i]) for entry in [head, *lines]) for i in range(len(head))]
    rule = tuple("-" * width for width in widths)
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(entry, widths)) + " |"
                     for entry in [head, rule, *lines])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--data-on", default="unknown")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    found = medians(arguments.files)
    lines = [line(row, found) for row in ROWS] + [KILL]
    text = machine(arguments.data_on) + "\n\n" + table(lines)
    print(text)
    missing = sum(entry[2] == "not measured" for entry in lines)
    reached = sum(entry[3] == "reached" for entry in lines)
    print(f"\n{reached} reached, {len(ROWS) - reached} missed")
    if arguments.write:
        write_between(arguments.write, BEGIN, END, text)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
