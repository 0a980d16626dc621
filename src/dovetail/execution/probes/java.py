"""Which Java there is: $JAVA_HOME, else the one on the PATH, as Spark and Flink look for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

TIMEOUT_S = 20.0
INSTALL = "on Debian and Ubuntu: apt install openjdk-17-jre-headless"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')


def find_java(least: int, most: int) -> tuple[str | None, str | None]:
    """(what was found, what is missing), either may be None; `least` to `most`: versions that will do."""
    home = os.environ.get("JAVA_HOME")
    named = str(Path(home) / "bin" / "java") if home else "java"
    path = shutil.which(named)
    if path is None:
        where = f"JAVA_HOME is {home}, where no bin/java is" if home else "no java is on the PATH"
        return None, f"Java {least} to {most}: {where} ({INSTALL})"
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"Java: {path} cannot be run ({error}; {INSTALL})"
    found = _VERSION.search(done.stderr + done.stdout)
    if found is None:
        return None, f"Java: {path} -version says nothing of a version ({INSTALL})"
    number = int(found[1])
    there = f"Java {number} ({path})"
    if not least <= number <= most:
        return there, f"Java {least} to {most}: {path} is version {number} ({INSTALL})"
    return there, None
