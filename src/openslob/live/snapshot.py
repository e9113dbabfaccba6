"""What a viewer of a record would see at this moment, as plain values: for programs that can't draw."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from openslob.live.view import Follower, View


def read_all(follower: Follower) -> View:
    """Read all that is in the record's files now, and return what is to be shown of it."""
    while follower.poll() and follower.read_share < 1:
        pass
    return follower.view()


def document(view: View) -> dict[str, Any]:
    """Return a view as plain values: of a sweep with its points, and with its run in progress or its last one."""
    return {
        **asdict(view.head),
        "figures": {name: figure.model_dump() for name, figure in view.now.items()},
        "verdicts": [verdict.model_dump(mode="json") for verdict in view.verdicts],
        "notes": [asdict(note) for note in view.notes],
        "points": [
            {**vars(point), "figures": {name: each.model_dump() for name, each in point.figures.items()}}
            for point in view.points
        ],
        "current": document(view.current) if view.current else None,
    }
