"""A session of one instance in the cluster's common time; stop signals and snapshots of all instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from openslob.core.errors import DeniedError, SlobError
from openslob.engines.base import Session, SliceRequest, SliceResult, Snapshotter, StopSignal
from openslob.engines.cluster.clocks import Clocks


@contextmanager
def name_instance(target: str) -> Iterator[None]:
    """Name the instance in errors of the block."""
    try:
        yield
    except SlobError as error:
        if error.what.startswith((f"{target}: ", f"{target} ")):
            raise
        kind = DeniedError if isinstance(error, DeniedError) else SlobError
        raise kind(f"{target}: {error.what}", error.remedy) from error


class ClusterSession:
    """Delegates to ``session``; times are translated to and from its server's clock."""

    def __init__(self, session: Session, instance: int, target: str, clocks: Clocks) -> None:
        self._session = session
        self._instance = instance
        self._target = target
        self._clocks = clocks

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:
        with name_instance(self._target):
            self._session.load_private_tables(wrote_blocks)

    def prepare(self) -> None:
        with name_instance(self._target):
            self._session.prepare()

    def plans(self) -> Mapping[str, str]:
        with name_instance(self._target):
            return self._session.plans()

    def settings(self) -> Mapping[str, str]:
        with name_instance(self._target):
            return self._session.settings()

    def run_slice(self, order: SliceRequest) -> SliceResult:
        with name_instance(self._target):
            return self._translated(self._session.run_slice(self._ordered(order)))

    def _ordered(self, order: SliceRequest) -> SliceRequest:
        return replace(
            order,
            # 0 is before any time on every clock: there is nothing to wait for.
            not_before_ns=order.not_before_ns and self._clocks.own(self._instance, order.not_before_ns),
            until_ns=self._clocks.own(self._instance, order.until_ns),
            due_ns=None if order.due_ns is None else self._clocks.own(self._instance, order.due_ns),
        )

    def _translated(self, result: SliceResult) -> SliceResult:
        return replace(
            result,
            start_ns=self._clocks.common(self._instance, result.start_ns),
            end_ns=self._clocks.common(self._instance, result.end_ns),
            first_op_ns=self._optional(result.first_op_ns),
            due_ns=self._optional(result.due_ns),
        )

    def _optional(self, own_ns: int | None) -> int | None:
        return None if own_ns is None else self._clocks.common(self._instance, own_ns)

    def backend_id(self) -> int:
        return self._session.backend_id()

    def instance(self) -> str:
        return self._target

    def cancel(self) -> bool:
        return self._session.cancel()

    def cut(self) -> None:
        self._session.cut()

    def close(self) -> None:
        self._session.close()


class ClusterStop:
    """The stop signals of all instances."""

    def __init__(self, signals: Sequence[StopSignal]) -> None:
        self._signals = signals

    def request(self) -> None:
        """Make every session stop soon. SlobError, after all were asked, when an instance can't be reached."""
        errors = [error for signal in self._signals if (error := _error_of(signal))]
        if errors:
            raise errors[0]

    def close(self) -> None:
        for signal in self._signals:
            signal.close()


class ClusterSnapshots:
    """Snapshots of all instances whose servers take them; files are named by the instance's number, from 1."""

    def __init__(self, snapshots: Mapping[int, Snapshotter]) -> None:
        self._snapshots = snapshots

    def begin(self) -> None:
        for snapshotter in self._snapshots.values():
            snapshotter.begin()

    def end(self) -> Mapping[str, str | bytes]:
        ended = {number: snapshotter.end() for number, snapshotter in self._snapshots.items()}
        return {f"{number}-{name}": content for number, files in ended.items() for name, content in files.items()}

    def close(self) -> None:
        for snapshotter in self._snapshots.values():
            snapshotter.close()


def _error_of(signal: StopSignal) -> SlobError | None:
    try:
        signal.request()
    except SlobError as error:
        return error
    return None
