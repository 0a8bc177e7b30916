# SPDX-License-Identifier: MIT
"""Makes triage-agent, the Python package, write its SQLite store or read what we have written.

reference_package.py write FILE    runs an agent that fails once; prints its run's checkpoints
reference_package.py read FILE RUN prints the run's newest checkpoint
Exits with 77 if the package (with its extra for SQLite) is not installed.
"""
import asyncio
import json
import sqlite3
import sys

try:
    from triage import Agent, FailurePolicy, Step
    from triage.checkpoint.sqlite import SQLiteCheckpointStore
    from triage.strategies import rollback_to_checkpoint
except ImportError:
    sys.exit(77)


def shown(checkpoint):
    return {"id": checkpoint.id, "timestamp": checkpoint.timestamp, "run": checkpoint.run_id, "state": checkpoint.state,
            "steps": [{"index": step.index, "action": step.action, "tool_input": step.tool_input, "error": step.error,
                       "exception_type": step.exception_type, "timestamp": step.timestamp, "metadata": step.metadata}
                      for step in checkpoint.trajectory_snapshot]}


async def write(file):
    calls = 0

    async def agent(task, *, record_step, update_state, **_):
        nonlocal calls
        calls += 1
        record_step(Step(index=0, action="plan", tool_called="search", tool_input={"q": "café"}, llm_output="ok",
                         metadata={"http_status": 200}))
        update_state({"page": calls, "list": [1, 2.5, None]})
        record_step(Step(index=1, action="fetch", error="HTTP 503", exception_type="ServerError"))
        update_state({"page": calls + 10})
        if calls == 1:
            raise RuntimeError("HTTP 503 Service Unavailable")
        return "done"

    store = SQLiteCheckpointStore(file)
    await Agent(agent, policy=FailurePolicy(default=rollback_to_checkpoint()), checkpoint_store=store,
                auto_checkpoint=True).run("task")
    ids = [row[0] for row in sqlite3.connect(file).execute("SELECT id FROM checkpoints ORDER BY timestamp")]
    return [shown(await store.load(one)) for one in ids]


async def read(file, run):
    return shown(await SQLiteCheckpointStore(file).latest(run))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(write(*sys.argv[2:]) if sys.argv[1] == "write" else read(*sys.argv[2:]))))
