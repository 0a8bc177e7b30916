# SPDX-License-Identifier: MIT
"""The client for Python under clients/conform.py."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "clients"))
from triage_client import NotDone, Supervisor  # noqa: E402


def refuse(key):
    raise NotDone("nobody there")


word = sys.argv[1]
with Supervisor() as triage:
    if word in ("step", "refused"):
        triage.step("fetch", tool_input={"page": 3})
    elif word == "state":
        triage.update_state(page=triage.state()["page"] + 1)
    elif word == "effect":
        print(triage.effect("mail:1", lambda key: "receipt"))
    elif word == "not_done":
        triage.effect("mail:1", refuse)
    elif word == "label":
        triage.checkpoint("planned")
    elif word == "usage":
        triage.usage(input_tokens=5, output_tokens=2)
    elif word == "beat":
        triage.heartbeat()
    elif word in ("allowed", "denied"):
        print(triage.propose("delete") or "allowed")
    elif word == "sleep":
        triage.sleep_until(4102444800)
    elif word == "wait":
        print(triage.wait("approved", 4102444800))
    elif word == "failure":
        triage.fail("HTTP 503", status=503)
        sys.exit(1)
