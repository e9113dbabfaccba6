"""The program `slob`, also as ``python -m openslob``: what happens before the command line is imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from openslob._version import __version__

# How long threads that are about to end are waited for.
PARTING_S = 0.5


def main() -> None:
    """Run the command line. While it is imported, Ctrl-C ends the process at once, because nothing has begun."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:] == ["--version"] and _print_version():
        return
    if "_SLOB_COMPLETE" in os.environ:
        from openslob.completion import answer  # noqa: PLC0415 - it needs no more than itself

        if (answered := answer()) is not None:
            sys.stdout.write(f"{answered[0]}\n")
            sys.exit(answered[1])
    # Libraries would look for plugins in every installed distribution, which nothing here has.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Nothing of what is imported is garbage: to look for it takes a tenth of the time of `slob list`.
    gc.disable()
    from openslob.cli import main as run  # noqa: PLC0415

    signal.signal(signal.SIGINT, before)
    try:
        run()
    except SystemExit as end:
        _leave_threads(end.code)
        raise
    finally:
        # Python would look for garbage three times more before it ends.
        gc.freeze()


def _print_version() -> bool:
    """Print the version, for which nothing else is imported. False where that fails: the command line says why."""
    try:
        os.write(1, f"slob {__version__}\n".encode())
    except OSError:
        return False
    return True


def _leave_threads(code: object) -> None:
    """End the process although threads are left that wait for a server that hangs; Python would wait for them."""
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    for thread in others:
        thread.join(PARTING_S / len(others))
    if any(thread.is_alive() for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else bool(code))


if __name__ == "__main__":
    main()
