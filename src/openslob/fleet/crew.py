"""The sessions of a run dealt over the drivers of a fleet, and what the drivers wrote put beside the record."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from openslob.core.errors import SlobError, UsageError, start_thread
from openslob.core.measurement import DriverUse
from openslob.core.secrets import Address
from openslob.core.session_classes import split_kind
from openslob.engines.base import SessionPlan
from openslob.fleet.channel import GONE, Buckets, Channel, Driver, Remote
from openslob.fleet.messages import DRIVERS, FILES, Order, Use
from openslob.kinds.run.crew import Member
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.worker import Report
from openslob.record.raw_csv import COLUMNS, raw_table

# What it takes to hand out a phase: a busy host lets a process wait for a part of a second, and some round trips, each
# as slow as the slowest so far. What takes longer than MOST_LEAD_S is no driver to wait for.
LEAD_S = 0.4
LEAD_ROUND_TRIPS = 6
MOST_LEAD_S = 30.0


def dealt(plans: Sequence[SessionPlan], drivers: int) -> list[Sequence[SessionPlan]]:
    """Return each driver's plans: neighbours together, so that every driver has sessions of all schemas and instances.

    UsageError for fewer sessions than drivers.
    """
    if len(plans) < drivers:
        raise UsageError(
            f"there are {drivers} drivers for {_sessions(len(plans))}",
            "use more sessions, or fewer drivers",
        )
    ends = [len(plans) * number // drivers for number in range(drivers + 1)]
    return [plans[begin:end] for begin, end in pairwise(ends)]


def _sessions(number: int) -> str:
    return f"{number} session{'' if number == 1 else 's'}"


class FleetCrew:
    """Implements `openslob.kinds.run.crew.Crew`. ``shared``: the drivers write into the record's folder themselves.

    ``direct`` is the server itself behind a ``target`` that is a pooler.
    """

    def __init__(
        self,
        drivers: Sequence[Driver],
        connect: Callable[[Driver, str], Remote],
        target: Address,
        plans: Sequence[SessionPlan],
        report: Callable[[Report], None],
        folder: Path,
        shared: bool,
        direct: Address | None = None,
    ) -> None:
        self._folder, self._shared = folder, shared
        run = f"{folder.name}-{uuid.uuid4().hex[:12]}"
        # In the order of the drivers.
        self.channels = [
            Channel(
                driver,
                lambda driver=driver: connect(driver, run),  # type: ignore[misc]
                Order(run, driver.number, target, part, folder.absolute() if shared else None, direct),
                report,
                len(drivers),
            )
            for driver, part in zip(drivers, dealt(plans, len(drivers)), strict=True)
        ]

    @property
    def lead_s(self) -> float:
        """What it takes to hand out a phase, by what exchanges with the drivers have taken."""
        return min(MOST_LEAD_S, LEAD_S + LEAD_ROUND_TRIPS * max(channel.slowest_s for channel in self.channels))

    @property
    def is_heard_late(self) -> bool:
        """Whether all drivers are on this host: they are asked for what their sessions did."""
        return all(channel.driver.here for channel in self.channels)

    @property
    def members(self) -> Sequence[Member]:
        """The sessions of all drivers."""
        return [member for channel in self.channels for member in channel.members]

    def start(self) -> None:
        """Give each driver its order."""
        for channel in self.channels:
            start_thread(channel)

    def give(self, phase: Phase | None, in_s: float = 0.0) -> None:
        """Say the phase to every driver."""
        for channel in self.channels:
            channel.give(phase, in_s)

    def late(self) -> str:
        """Return the drivers whose sessions are not known to wait in the server for the begin, which is now."""
        late = [each for each in self.channels if each.begun < len(each.members) and not each.lost]
        if not late:
            return ""
        names = ", ".join(
            f"{each.driver.name} had given the order to {each.begun} of {_sessions(len(each.members))}" for each in late
        )
        return (
            f"late for the common start: {names}. The run ends, since later sessions would measure something else: "
            "stop other work on that host and on the network to it, or use fewer sessions"
        )

    def stop(self) -> None:
        """Tell every driver that its sessions are to end."""
        for channel in self.channels:
            channel.ask(stop=True)

    def collect(self) -> Sequence[DriverUse]:
        """Fetch the files of all drivers, compare them with what was reported, and return what the drivers used."""
        with ThreadPoolExecutor(len(self.channels)) as pool:
            return list(pool.map(self._collect, self.channels))

    def _collect(self, channel: Channel) -> DriverUse:
        used, own = channel.use()
        place = self._folder / DRIVERS / str(used.number)
        if not self._shared:
            fetched = own is not None and self._fetch(channel, own, place)
            if not fetched:
                where = own.folder if own else f"drivers/{channel.order.run}/{used.number} in its openslob's home"
                return replace(used, files=where, left=True)
        _tidy(place)
        used = replace(used, files=f"{DRIVERS}/{used.number}")
        try:
            buckets, ops = _sums(place)
        except SlobError as error:
            return replace(used, lost=used.lost or str(error))
        used = replace(used, ops_written=sum(ops.values()))
        if not used.lost and (buckets != channel.buckets or ops != {n: c for n, c in channel.ops.items() if c}):
            return replace(used, lost="reported operations that differ from those in its files")
        return used

    def _fetch(self, channel: Channel, own: Use, place: Path) -> bool:
        """Copy the files of a driver into the record's folder, and remove them there; return whether they are here."""
        remote = channel.remote
        if remote is None:
            return False
        try:
            place.mkdir(parents=True, exist_ok=True)
            whole = all(_copy_file(remote, name, size, place / name) for name, size in own.sizes.items())
        except (SlobError, *GONE):
            whole = False
        if not whole:
            # All of them are on the driver's host.
            shutil.rmtree(place, ignore_errors=True)
            return False
        with suppress(SlobError, *GONE):
            remote.discard()
        return True

    def close(self) -> None:
        """Let the drivers go."""
        with ThreadPoolExecutor(len(self.channels)) as pool:
            list(pool.map(Channel.close, self.channels))
        if self._shared:
            for channel in self.channels:
                _tidy(self._folder / DRIVERS / str(channel.driver.number))
            with suppress(OSError):
                (self._folder / DRIVERS).rmdir()


def _copy_file(remote: Remote, name: str, size: int, path: Path) -> bool:
    """Copy a file of a driver part by part, as it may not fit the memory; return whether all of it is here."""
    done = 0
    with path.open("wb") as file:
        while done < size and (part := remote.read(name, done)):
            file.write(part)
            done += len(part)
    return done == size


def _tidy(place: Path) -> None:
    """Remove the files without rows, and a folder without files."""
    for name, columns in COLUMNS.items():
        with suppress(OSError):
            if (place / name).stat().st_size <= len(",".join(columns)) + 1:
                (place / name).unlink()
    with suppress(OSError):
        place.rmdir()


def _sums(place: Path) -> tuple[Buckets, dict[int, int]]:
    """Return what the files of a driver add up to: operations by bucket of each file, and by session."""
    columns, rows = raw_table(place, "slices.csv")
    session, count = columns.index("session"), columns.index("ops")
    ops: dict[int, int] = {}
    for row in rows:
        if number := _whole(row[count]):
            ops[_whole(row[session])] = ops.get(_whole(row[session]), 0) + number
    buckets: Buckets = {}
    for name in FILES[1:]:
        for _second, kind, edge, found in raw_table(place, name)[1]:
            # Reports do not say of which class a session is.
            key = (name, split_kind(str(kind))[1], _whole(edge))
            buckets[key] = buckets.get(key, 0) + _whole(found)
    return buckets, ops


def _whole(cell: object) -> int:
    return cell if isinstance(cell, int) else 0
