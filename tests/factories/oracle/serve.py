"""The stand-in as a process on loopback: prints its URL, and ends with its standard input.

``python serve.py '{"cache_bytes": 16777216, "pace": {"read_more_us": 100}}'``: the arguments of `World`. User and
password are ``slob``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from factories.oracle.standin import StandInServer
from factories.oracle.standin_world import Pace, World


def main() -> None:
    """Serve until the standard input ends."""
    given = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    world = World(**{**given, "pace": Pace(**given.get("pace", {}))})
    standin = StandInServer(world)
    sys.stdout.write(f"{standin.server.url}\n")
    sys.stdout.flush()
    sys.stdin.read()
    standin.server.stop()


if __name__ == "__main__":
    main()
