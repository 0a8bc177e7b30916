#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python peers: peers.py PEER WORK COUNT [FILE]. See README.md for the work."""
import os
import sys
import time

TEXT = "x" * 900
BUSY = "HTTP 503 Service Unavailable"


def timed(count, once):
    for _ in range(count // 5):
        once()
    begin = time.process_time_ns()
    for _ in range(count):
        once()
    print((time.process_time_ns() - begin) / count)


def tenacity(work, count, _):
    from tenacity import Retrying, stop_after_attempt, wait_none

    if work != "throw":
        return 3
    retrying = Retrying(stop=stop_after_attempt(4), wait=wait_none())

    def once():
        calls = 0

        def call():
            nonlocal calls
            calls += 1
            if calls == 1:
                raise ConnectionError(BUSY)
            return calls

        retrying(call)

    timed(count, once)
    return 0


def triage_agent(work, count, file):
    import asyncio

    from triage import Agent, FailurePolicy
    from triage.checkpoint import make_checkpoint
    from triage.policy import RecoveryAction
    from triage.taxonomy import Step

    async def retrying():
        async def again(_):
            return RecoveryAction.RETRY()

        calls = 0

        async def call(task, **_):
            nonlocal calls
            calls += 1
            if calls == 1:
                raise ConnectionError(BUSY)
            return calls

        agent = Agent(call, FailurePolicy(default=again))
        begin = 0
        for i in range(count + count // 5):
            if i == count // 5:
                begin = time.process_time_ns()
            calls = 0
            await agent.run("task")
        print((time.process_time_ns() - begin) / count)

    async def stepping():
        from triage.checkpoint.sqlite import SQLiteCheckpointStore

        store = SQLiteCheckpointStore(file)
        steps = []
        begin = time.perf_counter_ns()
        for i in range(count):
            steps.append(Step(index=i, action="fetch", tool_output=TEXT))
            await store.save(make_checkpoint({"n": i}, steps, run_id="run"))
        print((time.perf_counter_ns() - begin) / count)

    async def preparing():
        from triage.checkpoint.sqlite import SQLiteCheckpointStore

        steps = [Step(index=i, action="fetch", tool_output=TEXT) for i in range(count)]
        await SQLiteCheckpointStore(file).save(make_checkpoint({"n": count}, steps, run_id="run"))

    async def resuming():
        from triage.checkpoint.sqlite import SQLiteCheckpointStore

        begin = time.perf_counter_ns()
        newest = await SQLiteCheckpointStore(file).latest("run")
        assert len(newest.trajectory_snapshot) == count
        print(time.perf_counter_ns() - begin)

    todo = {"throw": retrying, "steps-power": stepping, "prepare": preparing, "resume": resuming}
    if work not in todo:
        return 3
    asyncio.run(todo[work]())
    return 0


def langgraph(work, count, file):
    import sqlite3
    from typing import TypedDict

    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        n: int
        text: str

    begun = []

    def step(state):
        if not begun:
            begun.append(time.perf_counter_ns())
        n = state["n"] + 1
        if work == "prepare" and n > count:
            os._exit(0)
        return {"n": n, "text": TEXT}

    if work not in ("steps-process", "steps-power", "prepare", "resume"):
        return 3
    begin = time.perf_counter_ns()
    connection = sqlite3.connect(file, check_same_thread=False)
    if work == "steps-process":
        connection.execute("PRAGMA synchronous = NORMAL")
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    last = count + 1 if work in ("prepare", "resume") else count
    graph.add_conditional_edges("step", lambda state: END if state["n"] >= last else "step")
    compiled = graph.compile(checkpointer=SqliteSaver(connection))
    config = {"configurable": {"thread_id": "run"}, "recursion_limit": count + 10}
    if work == "resume":
        final = compiled.invoke(None, config, durability="sync")
        assert final["n"] == last, final["n"]
        print(begun[0] - begin)
        return 0
    compiled.invoke({"n": 0, "text": ""}, config, durability="sync")
    print((time.perf_counter_ns() - begun[0]) / count)
    return 0


def dbos(work, count, file):
    import logging

    from dbos import DBOS, SetWorkflowID

    if work not in ("steps-power", "prepare", "resume"):
        return 3
    begin = time.perf_counter_ns()
    begun = []
    logging.disable(logging.CRITICAL)
    DBOS(config={"name": "peers", "system_database_url": f"sqlite:///{file}", "application_version": "1", "run_admin_server": False})

    @DBOS.step()
    def step(i):
        if not begun:
            begun.append(time.perf_counter_ns())
        if work == "prepare" and i == count:
            os._exit(0)
        return TEXT

    @DBOS.workflow()
    def run(steps):
        for i in range(steps):
            step(i)
        return steps

    DBOS.launch()
    if work == "resume":
        assert DBOS.retrieve_workflow("run").get_result() == count + 1
        print(begun[0] - begin)
    else:
        with SetWorkflowID("run"):
            run(count + 1 if work == "prepare" else count)
        print((time.perf_counter_ns() - begun[0]) / count)
    DBOS.destroy()
    return 0


if __name__ == "__main__":
    peers = {"tenacity": tenacity, "triage-agent": triage_agent, "langgraph": langgraph, "dbos": dbos}
    sys.exit(peers[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None))
