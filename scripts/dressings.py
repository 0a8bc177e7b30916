# SPDX-License-Identifier: MIT
"""The envelopes that a failure's text can come in: each function wraps a text in one of them.

Names, numbers and times come from `random`, so the same seed gives the same texts.
"""
import html
import json
import textwrap

NAMES = ["billing", "crawler", "planner", "ingest", "router", "mailer", "report", "search", "ledger", "atlas"]
STEPS = ["fetching the page", "preparing the report", "reading the inbox", "merging the tables", "calling the planner",
         "indexing the notes"]


def hexes(random, count):
    return "".join(random.choice("0123456789abcdef") for _ in range(count))


def clock_time(random):
    return f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"


def day(random):
    return f"20{random.randint(24, 27)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def colours(text, random):
    return f"\x1b[1;{random.randint(31, 36)}m{text}\x1b[0m"


def coloured_words(text, random):
    words = text.split(" ")
    at = random.randrange(len(words))
    words[at] = f"\x1b[33m\x1b[1m{words[at]}\x1b[22m\x1b[39m"
    return "\x1b[2K\r" + " ".join(words)


def json_error(text, random):
    return json.dumps({"error": {"message": text, "type": random.choice(["error", "api_error", None]), "param": None,
                                 "code": None}}, ensure_ascii=random.random() < 0.5)


def json_nested(text, random):
    return json.dumps({"request_id": "req_" + hexes(random, 12), "success": False,
                       "data": {"errors": [{"path": ["agent", random.choice(NAMES)], "message": text}]}}, indent=2)


def json_twice(text, random):
    return json.dumps({"status": "error", "body": json.dumps({"detail": text}), "id": random.randint(1, 999)})


def python_repr(text, random):
    return f"Error code: 400 - {({'error': {'message': text, 'code': None, 'trace': hexes(random, 8)}})!r}"


def mcp_result(text, random):
    return json.dumps({"jsonrpc": "2.0", "id": random.randint(1, 99),
                       "result": {"content": [{"type": "text", "text": text}], "isError": True}})


def web_page(text, random):
    return (f"<!DOCTYPE html>\n<html>\n<head><title>Error</title></head>\n<body>\n<h1>Something went wrong</h1>\n"
            f"<p>{html.escape(text)}</p>\n<hr><small>{random.choice(NAMES)}/1.{random.randint(0, 30)}</small>\n</body>\n</html>")


def preformatted(text, random):
    return f"<pre class=\"{random.choice(NAMES)}\">{html.escape(text)}</pre>"


def python_trace(text, random):
    name = random.choice(NAMES)
    return ("Traceback (most recent call last):\n"
            f'  File "/srv/{name}/agent.py", line {random.randint(10, 400)}, in run\n'
            "    result = self.step(state)\n"
            "             ^^^^^^^^^^^^^^^^\n"
            f'  File "/srv/{name}/loop.py", line {random.randint(10, 400)}, in step\n'
            "    raise RuntimeError(reply)\n"
            f"RuntimeError: {text}")


def python_chain(text, random):
    first = python_trace(text, random)
    return (first + "\n\nThe above exception was the direct cause of the following exception:\n\n"
            "Traceback (most recent call last):\n"
            f'  File "/usr/lib/python3.11/{random.choice(NAMES)}.py", line {random.randint(10, 90)}, in <module>\n'
            "    main()\nException: agent run failed")


def java_trace(text, random):
    name = random.choice(NAMES)
    return (f'Exception in thread "main" java.lang.RuntimeException: {text}\n'
            f"\tat com.example.{name}.Agent.run(Agent.java:{random.randint(10, 400)})\n"
            f"\tat com.example.{name}.Main.main(Main.java:{random.randint(10, 90)})\n\t... 3 more")


def java_cause(text, random):
    name = random.choice(NAMES)
    return (f"java.lang.RuntimeException: step failed\n\tat com.example.{name}.Agent.run(Agent.java:17)\n"
            f"Caused by: java.lang.IllegalStateException: {text}\n"
            f"\tat com.example.{name}.Tools.call(Tools.java:{random.randint(10, 90)})\n\t... 12 more")


def node_trace(text, random):
    name = random.choice(NAMES)
    return (f"Error: {text}\n    at Agent.run (/srv/{name}/dist/agent.js:{random.randint(10, 400)}:11)\n"
            f"    at async main (file:///srv/{name}/dist/main.js:{random.randint(5, 60)}:3)\n\nNode.js v20.11.1")


def go_panic(text, random):
    name = random.choice(NAMES)
    return (f"panic: {text}\n\ngoroutine 1 [running]:\nmain.run(0xc000{hexes(random, 6)})\n"
            f"\t/srv/{name}/main.go:{random.randint(10, 90)} +0x1d4\nmain.main()\n\t/srv/{name}/main.go:9 +0x25\n"
            "exit status 2")


def rust_panic(text, random):
    return (f"thread 'main' panicked at src/{random.choice(NAMES)}.rs:{random.randint(5, 90)}:14:\n{text}\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace")


def csharp_trace(text, random):
    name = random.choice(NAMES)
    return (f"Unhandled exception. System.Exception: {text}\n"
            f"   at Agents.{name.title()}.RunAsync(String task) in /src/Agent.cs:line {random.randint(10, 400)}\n"
            "   at Program.<Main>$(String[] args)")


def log_line(text, random):
    return f"{day(random)} {clock_time(random)},{random.randint(100, 999)} ERROR {random.choice(NAMES)}.agent - {text}"


def bracketed_log(text, random):
    return f"[{day(random)}T{clock_time(random)}.{random.randint(100, 999)}Z] [ERROR] [worker-{random.randint(1, 9)}] {text}"


def syslog(text, random):
    return (f"<11>1 {day(random)}T{clock_time(random)}.003Z {random.choice(NAMES)}-7f9c agentd {random.randint(100, 9999)} "
            f"ID47 - {text}")


def old_syslog(text, random):
    return f"Nov {random.randint(1, 28):2} {clock_time(random)} {random.choice(NAMES)}01 agentd[{random.randint(100, 9999)}]: {text}"


def logfmt(text, random):
    return (f'time={day(random)}T{clock_time(random)}Z level=error logger={random.choice(NAMES)} '
            f'msg={json.dumps(text, ensure_ascii=False)} attempt={random.randint(1, 5)}')


def json_log(text, random):
    return json.dumps({"ts": f"{day(random)}T{clock_time(random)}Z", "level": "error", "logger": random.choice(NAMES),
                       "msg": text, "pid": random.randint(100, 9999)}, ensure_ascii=False)


def docker_log(text, random):
    return json.dumps({"log": text + "\n", "stream": "stderr", "time": f"{day(random)}T{clock_time(random)}.123456789Z"})


def klog(text, random):
    return f"E{random.randint(1, 12):02}{random.randint(1, 28):02} {clock_time(random)}.{random.randint(100000, 999999)}       1 {random.choice(NAMES)}.go:{random.randint(10, 900)}] {text}"


def compose_log(text, random):
    return "\n".join(f"{random.choice(NAMES)}-1  | {line}" for line in text.split("\n"))


def ci_log(text, random):
    return f"{day(random)}T{clock_time(random)}.1234567Z ##[error]{text}"


def id_and_duration(text, random):
    return f"{text} (request_id=req_{hexes(random, 12)}, duration={random.randint(10, 9999)}ms)"


def trailing_pairs(text, random):
    return f"{text} trace_id={hexes(random, 32)} span_id={hexes(random, 16)} attempt={random.randint(1, 5)} elapsed=1.{random.randint(10, 99)}s"


def request_id(text, random):
    return f"{text} [Request ID: {hexes(random, 8)}-{hexes(random, 4)}-4{hexes(random, 3)}-a{hexes(random, 3)}-{hexes(random, 12)}]"


def step_failed(text, random):
    most = random.randint(3, 9)
    return f"Step {random.randint(1, most)} of {most} failed while {random.choice(STEPS)}: {text}"


def task_failed(text, random):
    return f"[{random.randint(1, 4)}/{random.randint(5, 9)}] Task {random.choice(NAMES)} failed: {text}"


def runtime_error(text, random):
    return f"{random.choice(['RuntimeError', 'AgentError', 'Exception'])}: {text}"


def wrapped(text, random):
    width = random.choice([40, 60, 72, 80])
    return "\n".join("\n".join(textwrap.wrap(line, width, break_long_words=False)) for line in text.split("\n"))


def indented(text, random):
    return textwrap.indent(text, " " * random.choice([2, 4]))


def zero_width(text, random):
    words = text.split(" ")
    return " ".join(word[:2] + "\u200b" + word[2:] if len(word) > 4 and random.random() < 0.5 else word for word in words)


DRESSINGS = {dress.__name__: dress for dress in (
    colours, coloured_words, json_error, json_nested, json_twice, python_repr, mcp_result, web_page, preformatted,
    python_trace, python_chain, java_trace, java_cause, node_trace, go_panic, rust_panic, csharp_trace, log_line,
    bracketed_log, syslog, old_syslog, logfmt, json_log, docker_log, klog, compose_log, ci_log, id_and_duration,
    trailing_pairs, request_id, step_failed, task_failed, runtime_error, wrapped, indented, zero_width)}
