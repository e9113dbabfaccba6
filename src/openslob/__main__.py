"""The program `slob`, also as ``python -m openslob``: what comes before the command line is there."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line. Importing it takes a moment, in which Ctrl-C just ends the process: nothing has begun."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from openslob.cli import main as run  # noqa: PLC0415

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
