"""Whether a specification is one of Vega-Lite's."""

from __future__ import annotations

from typing import Any

import altair as alt


def validate(spec: dict[str, Any]) -> None:
    """Raise for what is no Vega-Lite.

    Its schema allows any object as a row. Of thousands of rows, it would look at each in several ways.
    """
    given = spec.get("datasets", {})
    assert all(isinstance(row, dict) for rows in given.values() for row in rows)
    alt.TopLevelSpec.validate(spec | {"datasets": {name: list(rows[:1]) for name, rows in given.items()}})
