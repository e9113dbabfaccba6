"""Differences of counters of MariaDB and MySQL, as two readings of them come to."""

from __future__ import annotations

from itertools import pairwise

from openslob.engines.mysql.counters import LastingSums


def changes_of(*steps):
    """What readings make of counters that begin at 0 and grow by these steps: the change of each step and of all."""
    sums = LastingSums()
    names = {name for step in steps for name in step}
    now = dict.fromkeys(names, 0.0)
    seen = [sums.keep(now)]
    for step in steps:
        now = {name: value + step.get(name, 0.0) for name, value in now.items()}
        seen.append(sums.keep(now))
    whole, *parts = (
        {name: value - before.get(name, 0.0) for name, value in after.items()}
        for before, after in ((seen[0], seen[-1]), *pairwise(seen))
    )
    return parts, whole
