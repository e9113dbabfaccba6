"""The stand-in as a process on loopback: prints its URL, and goes on until SIGTERM or Ctrl-C.

``python serve.py '{"cache_bytes": 16777216, "pace": {"read_more_us": 100}}'``: the arguments of `World`. User and
password are ``slob``. With ``--until-input-ends`` it ends with its standard input, so that it does not outlive a test.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from factories.oracle.standin import StandInServer
from factories.oracle.standin_world import Pace, World

_ENDING = {signal.SIGTERM, signal.SIGINT}


def main() -> None:
    """Serve until it is told to end."""
    parser = argparse.ArgumentParser(description="A stand-in for Oracle Database, on loopback.")
    parser.add_argument("world", nargs="?", default="{}", type=json.loads, help="what it pretends to be, as JSON")
    parser.add_argument("--until-input-ends", action="store_true", help="end with the standard input")
    asked = parser.parse_args()
    # Before there are threads, which take over what is blocked.
    if not asked.until_input_ends:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    standin = StandInServer(World(**{**asked.world, "pace": Pace(**asked.world.get("pace", {}))}))
    sys.stdout.write(f"{standin.server.url}\n")
    sys.stdout.flush()
    if asked.until_input_ends:
        sys.stdin.read()
    else:
        signal.sigwait(_ENDING)
    standin.server.stop()


if __name__ == "__main__":
    main()
