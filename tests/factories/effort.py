"""How much a test tries: a part of it for each change, all of it with ``--nightly``, which `make thorough` gives.

For tests that try one thing with many values, whichever they are; what only a few values show is tried each time.
"""

from __future__ import annotations

import os

from hypothesis import settings

QUICK, THOROUGH = "quick", "thorough"


def register() -> None:
    """Register the profiles of hypothesis."""
    # A busy host makes any example slow, which says nothing of the code. CI tries the same examples each time.
    settings.register_profile(THOROUGH, deadline=None, max_examples=50, derandomize="CI" in os.environ)
    settings.register_profile(QUICK, settings.get_profile(THOROUGH), max_examples=20)


def number(quick: int, thorough: int) -> int:
    """Return one of two numbers, such as that of examples."""
    return thorough if settings().max_examples == settings.get_profile(THOROUGH).max_examples else quick
