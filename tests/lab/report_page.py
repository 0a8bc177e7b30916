#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens the HTML report of an experiment in a headless Chromium that has no network, looks at it, takes a screenshot.

Usage: report_page.py (--command TRIAGE [--experiment FILE] [--seeds N] | --report FILE) --out FOLDER [--loads N]
  --command TRIAGE   the command that writes the report
  --experiment FILE  examples/experiments/routing_p.yaml if left out, which has the most conditions
  --seeds N          so many seeds instead of those of the file
  --report FILE      look at this page instead of making one
  --out FOLDER       where report.html and report.png are left
  --loads N          also load it so often, each time in a new browser, and print what that took
Ends with 77 where there is no Chromium, and with 1 if something is wrong with the page.
"""
import argparse
import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
SKIPPED = 77
PATIENCE = 60  # Seconds.
# For each canvas its size and how many of its pixels are painted.
CANVASES = """[...document.querySelectorAll('canvas')].map((one) => {
  const pixels = one.getContext('2d').getImageData(0, 0, one.width, one.height).data;
  let painted = 0;
  for (let i = 3; i < pixels.length; i += 4) painted += pixels[i] > 0;
  return {id: one.id, width: one.width, height: one.height, painted};
})"""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


class BrowserEnded(RuntimeError):
    pass


class Browser:
    """One page of a Chromium, told what to do through a pair of pipes (its DevTools protocol)."""

    def __init__(self, program, profile):
        to_it, self.write_end = os.pipe()
        self.read_end, from_it = os.pipe()

        def place_pipes():  # Chromium reads from descriptor 3 and writes to 4.
            reading, writing = os.dup(to_it), os.dup(from_it)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run",
             "--window-size=1200,900", f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])],
            preexec_fn=place_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.buffer = b""
        self.count = 0
        self.events = []
        self.session = None

    def start(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Performance"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)

    def next_message(self):
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], PATIENCE)[0]:
                raise RuntimeError(f"the browser has said nothing for {PATIENCE} s")
            more = os.read(self.read_end, 1 << 16)
            if not more:
                raise BrowserEnded("the browser ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        request = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_end, json.dumps(request).encode() + b"\0")
        while True:
            message = self.next_message()
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def open(self, url):
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.next_message())

    def value_of(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def told(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]

    def close(self):
        with contextlib.suppress(Exception):
            self.session = None
            self.call("Browser.close")
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)


@contextlib.contextmanager
def browser(program):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        one = Browser(program, profile)
        try:
            one.start()
            yield one
        finally:
            one.close()


def starts(program):
    try:
        with browser(program):
            return True
    except (BrowserEnded, BrokenPipeError):
        return False


def what_is_wrong(page, url, picture):
    """Looks at an open page; returns a list of complaints."""
    wrong = [f"it asked for {one['request']['url']}" for one in page.told("Network.requestWillBeSent")
             if one["request"]["url"] != url and not one["request"]["url"].startswith("data:")]
    wrong += [f"a script threw: {one['exceptionDetails']['text']}" for one in page.told("Runtime.exceptionThrown")]
    wrong += [f"the browser said: {one['entry']['text']}" for one in page.told("Log.entryAdded")
              if one["entry"]["level"] == "error"]
    canvases = page.value_of(CANVASES)
    drawings = page.value_of("document.querySelectorAll('svg').length")
    if not canvases and not drawings:
        wrong.append("it has no charts")
    wrong += [f"the chart {one['id'] or 'without a name'} is empty" for one in canvases
              if one["painted"] < one["width"] * one["height"] / 1000]
    rows = page.value_of("document.querySelectorAll('table tr').length")
    if rows < 2:
        wrong.append("its table is empty")
    size = page.call("Page.getLayoutMetrics")["cssContentSize"]
    if size["width"] > 1200:
        wrong.append(f"it is {size['width']} pixels wide, more than the window")
    shot = page.call("Page.captureScreenshot", captureBeyondViewport=True,
                     clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1})
    image = base64.b64decode(shot["data"])
    picture.write_bytes(image)
    width, height = struct.unpack(">II", image[16:24])  # The head of a PNG.
    if (width, height) < (600, 600) or len(image) < 20_000:
        wrong.append(f"the screenshot has {width} × {height} pixels in {len(image)} bytes: there is nothing on it")
    return wrong, f"{len(canvases)} canvases, {drawings} drawings, {rows} rows, {width} × {height} pixels"


def write_report(given, report):
    seeds = ["--seeds", str(given.seeds)] if given.seeds else []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([given.command, "experiment", given.experiment, "--html", report, "--csv", "--store",
                        f"{folder}/runs.db", *seeds], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made = parser.add_mutually_exclusive_group(required=True)
    made.add_argument("--command", type=pathlib.Path)
    made.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--experiment", type=pathlib.Path, default=ROOT / "examples" / "experiments" / "routing_p.yaml")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--loads", type=int, default=0)
    given = parser.parse_args()
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print(f"skipped: there is no headless browser here (looked for {', '.join(NAMES)})")
        return SKIPPED
    if not starts(program):
        print(f"skipped: {program} is here, but does not start (often for want of a sandbox)")
        return SKIPPED
    given.out.mkdir(parents=True, exist_ok=True)
    report = (given.report or given.out / "report.html").resolve()
    if given.command:
        write_report(given, report)
    url = report.as_uri()
    with browser(program) as page:
        page.open(url)
        wrong, seen = what_is_wrong(page, url, given.out / "report.png")
    print(f"{report.stat().st_size} bytes: {seen}; see {given.out / 'report.png'}")
    loads = []
    for _ in range(given.loads):
        with browser(program) as page:
            page.open(url)
            loads.append(page.value_of(LOADED))
            spent = {one["name"]: one["value"] * 1000 for one in page.call("Performance.getMetrics")["metrics"]}
        print(f"load event after {loads[-1]:.0f} ms; scripts {spent['ScriptDuration']:.0f} ms, layout "
              f"{spent['LayoutDuration']:.0f} ms, all tasks {spent['TaskDuration']:.0f} ms; "
              f"load of the machine {os.getloadavg()[0]:.1f}")
    if loads:
        print(f"median {statistics.median(loads):.0f} ms")
    for one in wrong:
        print(f"wrong: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
