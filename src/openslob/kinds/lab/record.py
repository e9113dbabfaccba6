"""The record of a lab, `lab.json`: what each setting of a server costs, by pairs of runs with and without it.

It is a folder, ``results/<time>-<name>/``, with `lab.json` and the folders of its runs, which are ordinary records. The
file is replaced as a whole after every run.

History of the format, newest first:
  2  the interval that holds for all values of a setting together, in ``joint_low`` and ``joint_high``.
  1  first version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from openslob.record.model import DocumentModel, RecordModel, Status, Verdict
from openslob.record.parts import Load
from openslob.record.store import DocumentFolder
from openslob.record.versions import Format, take_defaults

LAB_VERSION = 2
LAB_FILE = "lab.json"


class LabLoad(RecordModel):
    """A load that settings are compared under: its workload, and the figure that is its rate.

    ``rate`` is a metric; ``unit`` names what it counts, such as "reads".
    """

    name: str
    about: str
    workload: Load
    rate: str
    unit: str


class LabArm(RecordModel):
    """A value of a setting that is compared with the value that the server has, ``here``.

    ``effect`` is what it takes to set it. ``loads`` are those on which it can matter, ``controls`` those on which it
    must show nothing: a difference there is one of the measurement. ``settings`` are the server's own that it has in
    this arm, ``server`` the fields of its specification. Both are empty for the same server twice.
    """

    setting: str
    value: str
    here: str
    effect: str
    loads: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    settings: Mapping[str, str] = Field(default_factory=dict)
    server: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """The setting with its value; for the same server twice, what it is."""
        return f"{self.setting}={self.value}" if self.value else self.setting

    @property
    def base_label(self) -> str:
        """The label of the other side of its pairs."""
        return f"{self.setting}={self.here}" if self.value else f"{self.setting}, first"

    @property
    def every_load(self) -> tuple[str, ...]:
        """All loads that it is run under."""
        return (*self.loads, *self.controls)


class LeftOut(RecordModel):
    """A setting, or a value of one, that is not compared, and why."""

    what: str
    why: str


class LabRun(RecordModel):
    """A run of a round: with ``value`` of a setting, or with the value that the server has (None).

    ``run`` is the folder of the run in the record's folder; None if there is none. ``figures`` are its rate, its rate
    per CPU second of the server, and its p99 in µs; none if it failed. ``why`` says why there is none, or no rate.
    ``made_again``: a busy host spoiled it, and the next one stands in its place.
    """

    round: int
    setting: str
    value: str | None
    load: str
    run: str | None = None
    figures: Mapping[str, float | None] = Field(default_factory=dict)
    failed_verdicts: tuple[str, ...] = ()
    why: str = ""
    made_again: bool = False


class LabRatio(RecordModel):
    """How a figure with a setting compares with that without it: their ratio over all pairs, and its 95 % interval.

    Unknown values are None, and ``why`` says why. ``together``: whether the interval excludes 1 also at the confidence
    that holds for all comparisons of the lab together; None if that is not known. ``joint_low`` and ``joint_high`` end
    the interval that holds for all values of the setting under the load together, at 95 %, as they share the runs
    without it; records of earlier releases have none.
    """

    pairs: int = 0
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    together: bool | None = None
    why: str = ""
    joint_low: float | None = None
    joint_high: float | None = None

    @property
    def joint(self) -> tuple[float, float] | None:
        """The ends of the interval that holds for all values of the setting together; its own if that is not known."""
        low, high = (self.low, self.high) if self.joint_low is None else (self.joint_low, self.joint_high)
        return None if low is None or high is None else (low, high)

    @property
    def half_pct(self) -> float | None:
        """Half the width of the interval, in % of the ratio; of the wider half."""
        if self.ratio is None or self.low is None or self.high is None:
            return None
        return 100 * max(self.high / self.ratio - 1, 1 - self.low / self.ratio)

    @property
    def differs(self) -> bool | None:
        """Whether the interval excludes 1; None if it is not known."""
        return None if self.low is None or self.high is None else not self.low <= 1 <= self.high

    @property
    def smaller_than_pct(self) -> float | None:
        """What a difference is smaller than, in %, going by the interval."""
        return None if self.low is None or self.high is None else 100 * max(abs(self.high - 1), abs(1 - self.low))


class ArmResult(RecordModel):
    """What a value of a setting does under a load, by figure. ``settled``: the rate's interval is narrow enough."""

    setting: str
    value: str
    load: str
    control: bool
    settled: bool
    figures: Mapping[str, LabRatio]

    @property
    def rate(self) -> LabRatio:
        """How the rates compare."""
        return self.figures["rate"]


class LabRecord(DocumentModel):
    """The request of a lab, its runs, and what they come to.

    ``server`` is the specification of the servers that it makes. ``precision_pct`` is the half width of an interval
    that is narrow enough, ``limit_s`` the time that the lab may take, ``spent_s`` what it took so far, ``seed`` decides
    the order.
    """

    lab_version: int = LAB_VERSION
    kind: str = "lab"
    id: str
    name: str
    status: Status = Status.INTERRUPTED
    started_at: str
    openslob_version: str
    target: str
    server: Mapping[str, Any]
    environment: Mapping[str, Any] = Field(default_factory=dict)
    product: str = ""
    loads: tuple[LabLoad, ...]
    arms: tuple[LabArm, ...]
    left_out: tuple[LeftOut, ...] = ()
    seed: int
    precision_pct: float
    limit_s: float
    spent_s: float = 0.0
    runs: tuple[LabRun, ...] = ()
    results: tuple[ArmResult, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def find_lacks(self) -> Iterator[str]:
        """Yield which loads and values it names and does not have."""
        loads, arms = {each.name for each in self.loads}, {(each.setting, each.value) for each in self.arms}
        named = {each.load for each in self.runs} | {each.load for each in self.results}
        named |= {name for each in self.arms for name in each.every_load}
        yield from (f"there is no load {name!r}" for name in named - loads)
        for setting, value in {(each.setting, each.value) for each in self.results} - arms:
            yield f"there is no value {value!r} of {setting!r}"
        if self.status is Status.COMPLETE and any(each.figures for each in self.runs) and not self.results:
            yield "it has runs and no results"

    def load(self, name: str) -> LabLoad:
        """Return the load of this name."""
        return next(each for each in self.loads if each.name == name)

    @property
    def rounds(self) -> int:
        """The number of rounds that were begun."""
        return max((each.round for each in self.runs), default=0)

    @property
    def compared(self) -> Iterator[tuple[LabArm, LabLoad]]:
        """Each arm with each of its loads."""
        return ((arm, self.load(name)) for arm in self.arms for name in arm.every_load)

    @property
    def is_settled(self) -> bool:
        """Whether no comparison needs more pairs."""
        found = [self.result(arm, load.name) for arm, load in self.compared]
        return all(result is not None and result.settled for result in found)

    def find_setting(self, run: LabRun) -> dict[str, str]:
        """Return the value of the setting that a run was made with, by the setting's name."""
        here = next((arm.here for arm in self.arms if arm.setting == run.setting), "")
        return {run.setting: run.value or here or "first"} if run.value != "" else {run.setting: "again"}

    def result(self, arm: LabArm, load: str) -> ArmResult | None:
        """Return the result of an arm under a load; None before there was one."""
        wanted = (arm.setting, arm.value, load)
        return next((each for each in self.results if (each.setting, each.value, each.load) == wanted), None)


class LabFolder(DocumentFolder[LabRecord]):
    """The folder of a lab while it is in progress."""

    form = Format(LabRecord, "the record of a lab", "lab_version", LAB_VERSION, {1: take_defaults})
    file_name = LAB_FILE


load = LabFolder.load
