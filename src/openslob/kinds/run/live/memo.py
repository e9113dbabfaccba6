"""What was computed for a view, kept for the next one as long as little was added."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_MOST = 500
# What would be kept for less is computed each time: a record grows once a second.
LEAST_S = 0.5

Value = TypeVar("Value")


class Memo:
    """Values by key. To look at a day once a second must not cost the whole day each time."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Hashable, float, Any]] = {}

    def get(
        self, key: Hashable, version: Hashable, end_s: float, fresh_s: float, compute: Callable[[], Value]
    ) -> Value:
        """Return a value of the same ``version`` from less than ``fresh_s`` before ``end_s``, or compute it."""
        if fresh_s < LEAST_S:
            return compute()
        found = self._kept.get(key)
        if found is not None and found[0] == version and 0 <= end_s - found[1] < fresh_s:
            kept: Value = found[2]
            return kept
        if len(self._kept) >= _MOST:
            self._kept.clear()
        value = compute()
        self._kept[key] = (version, end_s, value)
        return value
