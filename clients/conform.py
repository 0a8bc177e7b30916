#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a client speaks the protocol of docs/protocol.md, version 1, by standing in for the supervisor.

Usage: clients/conform.py -- CMD ARG…

CMD is a small program that uses the client. It is started once for each of these words, passed as its last argument:
  step      records a step with the action "fetch" and the tool_input {"page": 3}
  state     reads the state, and sets the key "page" to one more than it was
  effect    executes the effect "mail:1", whose result is "receipt", and prints the result that it gets
  not_done  begins the effect "mail:1", and reports that it certainly did not happen
  label     labels a checkpoint "planned"
  failure   reports the failure "HTTP 503" with the status 503, and ends with status 1
  usage     reports the usage of 5 input_tokens and 2 output_tokens
  beat      sends a heartbeat
  allowed   proposes the step "delete", and prints "allowed", or the reason why it is not
  denied    the same
  sleep     sleeps until 4102444800
  wait      waits for the signal "approved" until 4102444800, and prints its value, a text
  refused   records a step, which is refused: ends with any status but 0
Answers come late, in pieces, and with unknown keys. Exits with 1 if anything is wrong. Python 3.9 or newer.
"""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 20  # Seconds for one program.
UNTIL = 4102444800  # The year 2100.
WORDS = ("step", "state", "effect", "not_done", "label", "failure", "usage", "beat", "allowed", "denied", "sleep", "wait", "refused")


class Stand:
    """A supervisor for one program: reads every line, and answers with what `reply` returns."""

    def __init__(self, path, reply):
        self.lines, self.wrong, self.reply, self.impatient, self.path, self.serving = [], [], reply, False, path, []
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(path)
        self.server.listen()
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def finish(self):
        """Reads what the program has sent before its end."""
        self.server.setblocking(False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:  # Wakes accept().
            last.connect(self.path)
        for thread in [self.accepting, *self.serving]:
            thread.join(LIMIT)
        self.server.close()

    def accept(self):
        while True:
            try:
                peer, _ = self.server.accept()
            except OSError:
                return
            self.serving.append(threading.Thread(target=self.serve, args=(peer,), daemon=True))
            self.serving[-1].start()

    def serve(self, peer):
        for line in peer.makefile("rb"):
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                self.wrong.append(f"a line is not a JSON object: {line!r}")
                continue
            self.lines.append(message)
            for answer in self.reply(message):
                self.send(peer, answer)

    def send(self, peer, answer):
        text = json.dumps({**answer, "added_later": {"by": ["a newer version"]}}).encode() + b"\n"
        try:
            for part in (text[:7], text[7:]):
                time.sleep(0.02)
                peer.sendall(part)
        except OSError:
            self.impatient = True


def replies(word):
    """The reply to a message; effects are answered twice with the same id."""
    begun = []

    def reply(message):
        if word == "refused":
            return [{"id": message.get("id"), "ok": False, "code": "io", "error": "the disk is full"}]
        if "effect" in message:
            begun.append(message.get("id"))
            return [{"id": begun[0], "ok": True, "run": True, "generation": 1, "idempotency_key": "k" * 64}]
        if "effect_done" in message and begun:
            return [{"id": begun[0], "ok": True, "run": False, "result": message["effect_done"].get("result")}]
        if "effect_not_done" in message and begun:
            return [{"id": begun[0], "ok": False, "code": "escalated", "error": "not done"}]
        if "id" not in message:
            return []
        answer = {"id": message["id"], "ok": True}
        if "get" in message:
            answer["state"] = {"page": 4, "other": "kept"}
        if "propose_step" in message:
            answer.update({"allowed": True} if word == "allowed" else {"allowed": False, "reason": "too risky"})
        if "wait" in message:
            answer.update({"came": True, "value": "by ana"})
        return [answer]

    return reply


def find(lines, key):
    return [line[key] for line in lines if key in line]


def judge(word, stand, ended):
    """The mistakes of the program, as sentences."""
    wrong, lines = list(stand.wrong), stand.lines
    fails = word in ("failure", "refused", "not_done")
    if not fails and ended.returncode != 0:
        wrong.append(f"it ended with status {ended.returncode}: {ended.stderr.strip()[-300:]}")
    if word in ("failure", "refused") and ended.returncode == 0:
        wrong.append("it ended with status 0")
    if stand.impatient:
        wrong.append("it went away before it was answered")
    steps = find(lines, "step")
    if word == "step" and not any(
        isinstance(step, dict) and step.get("action") == "fetch" and step.get("tool_input") == {"page": 3} for step in steps
    ):
        wrong.append(f"no such step came: {steps}")
    if word == "state" and {"page": 5} not in find(lines, "state"):
        wrong.append(f"the state was not set to page 5, and to nothing else: {find(lines, 'state')}")
    if word == "label" and "planned" not in find(lines, "checkpoint"):
        wrong.append("no checkpoint was labelled")
    if word == "failure":
        said = find(lines, "failure")
        if not any(one == "HTTP 503" or isinstance(one, dict) and "503" in str(one.get("message")) for one in said):
            wrong.append(f"no such failure came: {said}")
    if word == "usage" and not any(
        isinstance(one, dict) and one.get("input_tokens") == 5 and one.get("output_tokens") == 2 for one in find(lines, "usage")
    ):
        wrong.append(f"no such usage came: {find(lines, 'usage')}")
    if word == "beat" and True not in find(lines, "heartbeat"):
        wrong.append("no heartbeat came")
    if word in ("allowed", "denied"):
        proposed = find(lines, "propose_step")
        if [one if isinstance(one, str) else one.get("action") for one in proposed] != ["delete"]:
            wrong.append(f"the step was not proposed once: {proposed}")
        expected = "allowed" if word == "allowed" else "too risky"
        if expected not in ended.stdout:
            wrong.append(f"it did not print \"{expected}\"")
    if word == "sleep" and find(lines, "sleep_until") != [UNTIL]:
        wrong.append(f"it did not sleep until then: {find(lines, 'sleep_until')}")
    if word == "wait":
        if find(lines, "wait") != [{"name": "approved", "until": UNTIL}]:
            wrong.append(f"it did not wait for that: {find(lines, 'wait')}")
        if "by ana" not in ended.stdout:
            wrong.append("the signal's value was not printed")
    if word in ("effect", "not_done"):
        asked = find(lines, "effect")
        if [one.get("key") for one in asked if isinstance(one, dict)] != ["mail:1"]:
            wrong.append(f"the effect was not asked for once: {asked}")
        end = find(lines, "effect_done" if word == "effect" else "effect_not_done")
        if [one.get("key") for one in end if isinstance(one, dict)] != ["mail:1"]:
            wrong.append(f"its end was not told once: {end}")
        if word == "effect" and end and end[0].get("result") != "receipt":
            wrong.append(f"its result is not \"receipt\": {end[0]}")
        if word == "effect" and "receipt" not in ended.stdout:
            wrong.append("its result was not printed")
    return wrong


def check(command, word):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        stand = Stand(path, replies(word))
        environment = {**os.environ, "TRIAGE_SOCKET": path, "TRIAGE_RUN_ID": "conform", "TRIAGE_ATTEMPT": "1"}
        environment.pop("TRIAGE_RECOVERY", None)
        try:
            ended = subprocess.run([*command, word], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
            stand.finish()
            wrong = judge(word, stand, ended)
        except subprocess.TimeoutExpired:
            wrong = [f"it did not end within {LIMIT} s"]
            stand.server.close()
    print(f"{word}: {'; '.join(wrong) if wrong else 'ok'}")
    return not wrong


def main(arguments):
    if len(arguments) < 2 or arguments[0] != "--":
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if all([check(arguments[1:], word) for word in WORDS]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
