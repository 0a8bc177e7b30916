# SPDX-License-Identifier: MIT
"""Speaks to the supervisor of a program that runs under `triage run`; see docs/protocol.md. Python 3.9 or newer, no dependencies.

    with Supervisor() as triage:
        page = triage.state().get("page", 0)
        triage.step("fetch", tool_called="http_get", tool_input={"page": page})
        triage.update_state(page=page + 1)
        receipt = triage.effect("mail:42", lambda key: send_mail(42, key))
"""
from __future__ import annotations

import functools
import json
import os
import socket
import threading
import time
from typing import Any, Callable, Dict, Optional, Tuple, TypeVar

Result = TypeVar("Result")


class NotDone(Exception):
    """Raised by an effect's function if the effect certainly did not happen; it may then be tried again."""


class Refused(Exception):
    """The supervisor answered with an error; `code` is its name, such as "in_doubt"."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class _Unread(Refused):
    """The supervisor could not read a line, so nothing in it has happened."""


_inside = threading.local()  # Its `keys`: the effects whose functions this thread is in.


def recovery() -> Optional[Dict[str, Any]]:
    """Why this attempt was made; None in the first attempt of a run."""
    path = os.environ.get("TRIAGE_RECOVERY")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        return dict(json.load(file))


class _Connection:
    """The connection of one process, which its threads use in turn. It connects again after whatever cut a request off."""

    def __init__(self, path: str) -> None:
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.busy = False  # A request is under way; whoever holds the lock and sees that is a signal handler within it.
        self._path = path
        self._socket: Optional[socket.socket] = None
        self._rest = bytearray()
        self._last = 0

    def open(self) -> socket.socket:
        if self._socket is None:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.connect(self._path)
            self._socket, self._rest = made, bytearray()
        return self._socket

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def send(self, message: Dict[str, Any]) -> None:
        line = json.dumps(message, allow_nan=False).encode() + b"\n"
        try:
            self.open().sendall(line)
        except BaseException:
            self.close()  # A part of the line may have been sent.
            raise

    def ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        self._last += 1
        self.send({"id": self._last, **message})
        return self.hear()

    def hear(self) -> Dict[str, Any]:
        """The answer to the newest request; one without an id is to a line that could not be read."""
        try:
            while True:
                answer: Dict[str, Any] = json.loads(self._read_line())
                if answer.get("id") in (None, self._last):
                    break
        except BaseException:
            self.close()  # Whoever asks next must not take this answer for its own.
            raise
        if not answer.get("ok"):
            refused = _Unread if answer.get("id") is None else Refused
            raise refused(str(answer.get("code")), str(answer.get("error")))
        return answer

    def leave(self) -> None:
        """Ends the connection, and with it its effect, which is in doubt when the supervisor has ended it, too."""
        if self._socket is None or self.process != os.getpid():
            return
        try:
            self._socket.settimeout(5)
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(1 << 16):
                pass
        except OSError:
            pass

    def _read_line(self) -> bytes:
        end = self._rest.find(b"\n")
        while end < 0:
            seen = len(self._rest)
            block = self._socket.recv(1 << 16) if self._socket is not None else b""
            if not block:
                raise ConnectionError("the supervisor has ended")
            self._rest += block
            end = self._rest.find(b"\n", seen)
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line


class Supervisor:
    """A connection. Its methods may be called from several threads, also by the functions of effects, by signal handlers, and after a fork."""

    def __init__(self, path: Optional[str] = None) -> None:
        path = path or os.environ.get("TRIAGE_SOCKET")
        if not path:
            raise RuntimeError("TRIAGE_SOCKET is not set: this works inside `triage run` only")
        self._path = path
        self._closed = False
        self._connection = _Connection(path)
        self._connection.open()

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed = True
        self._connection.close()

    def step(self, action: str, **fields: Any) -> None:
        """Records a step; returns when it is durable. Fields: tool_called, tool_input, tool_output, error, …"""
        self._ask({"step": {"action": action, **fields}})

    def state(self) -> Dict[str, Any]:
        return dict(self._ask({"get": "state"})["state"])

    def update_state(self, **keys: Any) -> None:
        self._ask({"state": keys})

    def usage(self, **fields: Any) -> None:
        """Reports input_tokens, output_tokens and cost_usd."""
        self._ask({"usage": fields})

    def checkpoint(self, label: str) -> None:
        self._ask({"checkpoint": label})

    def heartbeat(self) -> None:
        self._use(lambda own: own.send({"heartbeat": True}))

    def fail(self, text: str, **fields: Any) -> None:
        """Reports why this program is about to fail. Fields: type (of the failure, or of the exception), reason, http_status."""
        self._ask({"failure": {"message": text, **fields}})

    def propose(self, action: str, **fields: Any) -> Optional[str]:
        """Asks for permission before a step: None if it is allowed, otherwise the reason."""
        answer = self._ask({"propose_step": {"action": action, **fields}})
        return None if answer["allowed"] else str(answer["reason"])

    def sleep_until(self, seconds: float) -> None:
        """Returns at that time (seconds since 1970). A long sleep ends this program; its next attempt gets here again."""
        with Supervisor(self._path) as own:
            own._ask({"sleep_until": seconds})

    def wait(self, name: str, until: float, missing: Any = None) -> Any:
        """The value of the signal of that name, which may be None; `missing` if it does not arrive in time. A long wait ends this program, too."""
        with Supervisor(self._path) as own:
            answer = own._ask({"wait": {"name": name, "until": until}})
            return answer.get("value") if answer.get("came") else missing

    def effect(self, key: str, function: Callable[[str], Result], arguments: Any = None) -> Result:
        """Calls function(idempotency_key) at most once per run, and returns its result, also in later attempts.

        The result must be JSON, and is returned as JSON has it: a tuple as a list. Of another result a text is kept that says so, and
        the error is raised: the effect has happened. An exception of the function leaves the effect in doubt, except NotDone.
        """
        inside = _inside.__dict__.setdefault("keys", [])
        if key in inside:
            raise Refused("invalid_argument", f"effect {key!r} is what this call is part of: it would wait for its own end; give it another key")
        own, answer = self._begin(key, arguments)
        try:
            if not answer.get("run"):
                return answer["result"]  # type: ignore[no-any-return]
            inside.append(key)
            try:
                returned = function(answer["idempotency_key"])
            except NotDone as error:
                # So that it can be read: halves of surrogate pairs become U+FFFD.
                cause = str(error)[:100_000].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                own.send({"effect_not_done": {"key": key, "cause": cause}})
                try:
                    own.hear()
                except Refused:
                    pass  # The key is free again.
                raise
            except BaseException:
                own.leave()
                raise
            finally:
                inside.remove(key)
            try:
                result: Result = json.loads(json.dumps(returned, allow_nan=False))
                own.send({"effect_done": {"key": key, "result": result}})
                own.hear()
            except (TypeError, ValueError, RecursionError, _Unread) as error:
                own.send({"effect_done": {"key": key, "result": f"the result could not be kept: {error}"}})
                own.hear()
                raise
            return result
        finally:
            own.close()

    def _begin(self, key: str, arguments: Any) -> Tuple[_Connection, Dict[str, Any]]:
        """Where too many effects are under way it asks again, on another connection, since they may need this one for their ends."""
        message: Dict[str, Any] = {"key": key}
        if arguments is not None:
            message["arguments"] = arguments
        while True:
            own = _Connection(self._path)
            try:
                return own, own.ask({"effect": message})
            except BaseException as error:
                own.close()
                if not isinstance(error, Refused) or error.code != "exhausted":
                    raise
            time.sleep(0.1)

    def once(self, key: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
        """Decorator: makes the function an effect with this key; it receives only its own arguments.

        So it is called once in all: a call with other arguments is refused as a "conflict" (if they are JSON; others are not compared).
        """

        def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Result:
                given: Any = [args, kwargs] if args or kwargs else None
                try:
                    json.dumps(given, allow_nan=False, ensure_ascii=False).encode()
                except (TypeError, ValueError, RecursionError):
                    given = None
                return self.effect(key, lambda unused: function(*args, **kwargs), given)

            return call

        return decorate

    def _ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        return self._use(lambda own: own.ask(message))

    def _use(self, function: Callable[[_Connection], Result]) -> Result:
        own = self._own()
        with own.lock:
            if own.busy:
                with Supervisor(self._path) as other:
                    return other._use(function)
            try:
                own.busy = True
                return function(own)
            finally:
                own.busy = False

    def _own(self) -> _Connection:
        """After a fork the connection belongs to the parent, and somebody may hold its lock for ever."""
        if self._closed:
            raise ConnectionError("the connection is closed")
        own = self._connection
        if own.process != os.getpid():
            own.close()
            own = self._connection = _Connection(self._path)
        return own
