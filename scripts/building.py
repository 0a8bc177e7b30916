# SPDX-License-Identifier: MIT
"""The programs that the scripts ask."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def built(target, *options):
    """The program of a target, built by the release preset; options are CMake's."""
    subprocess.run([ROOT / "scripts" / "build", "release", *options, target], check=True, stdout=sys.stderr)
    return ROOT / "build" / "release" / "bin" / ("triage" if target == "triage_cli" else target)
