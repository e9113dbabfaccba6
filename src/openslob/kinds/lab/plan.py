"""What a lab compares: values of settings with those that the server has, and under which loads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from openslob.analyze.outcome import count_noun
from openslob.config.server_parameters import MADE_WITH, SERVER_PARAMETERS
from openslob.core.errors import UsageError
from openslob.core.units import format_bytes
from openslob.engines import registry
from openslob.engines.managed.base import ReadySetting, ServerSpec
from openslob.engines.settings import Effect, KnownSettings, parse_settings
from openslob.kinds.lab.loads import ANY, DEFAULT_CACHE, NAMES
from openslob.kinds.lab.record import LabArm, LabRecord, LeftOut
from openslob.kinds.lab.servers import LabServers, groups, template

# A start of a server, making and loading one, removing one, and what a run takes beside its warm-up and its window; in
# seconds, on a quiet host, as long as nothing was measured.
START_S, MAKE_S, REMOVE_S, _BESIDE_S = 1.0, 5.0, 1.0, 0.8
# The same server twice, and the loads under which that must show nothing.
NOTHING = "nothing changed"
_NOTHING_UNDER = ("physical", "commit")


@dataclass(frozen=True)
class Question:
    """A setting to compare. Without ``values``, every other value than the present one.

    ``named``, ``exact``: the user named the setting, or gave its values, too. ``why_not`` says why it can't be compared
    on any server of this kind.
    """

    setting: str
    values: tuple[str, ...] = ()
    loads: tuple[str, ...] = ANY
    controls: tuple[str, ...] = ()
    named: bool = True
    exact: bool = False
    why_not: str = ""


@dataclass
class Arms:
    """What is compared, and what is not, with the reason."""

    arms: list[LabArm] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave_out(self, what: str, why: UsageError) -> None:
        """Note what is not compared."""
        self.left_out.append(LeftOut(what=what, why=str(why)))


def ready_names() -> list[str]:
    """Return the names of what is ready to be compared, on servers of any engine."""
    engines = registry.managed_engines()
    return list(dict.fromkeys(each.name for engine in engines for each in registry.ready_settings(engine)))


def ready_list(target: str) -> dict[str, str]:
    """Return what is ready to be compared on servers like the target: by its name the setting, and what it is about."""
    # A server made on demand need not be there, and its programs need not be installed.
    engine = registry.engine_on_demand(target) or template(target, DEFAULT_CACHE).engine
    ready = registry.ready_settings(engine)
    return {each.name: f"{each.setting}: {each.about}" for each in ready}


def questions(engine: str, texts: Sequence[str], ready: Sequence[str], loads: tuple[str, ...]) -> list[Question]:
    """Return what is asked: settings as ``NAME=V1,V2`` or ``NAME``, and ready ones.

    If there are neither, it is all ready ones that need not be named. ``loads`` replaces the loads of each. UsageError
    for a name that is not ready.
    """
    own = registry.ready_settings(engine)
    for name in ready:
        if name not in ready_names():
            raise UsageError(f"--ready: there is no ready setting {name!r}", f"there are {', '.join(ready_names())}")
    chosen = [each for each in own if each.name in ready or not (ready or texts or each.on_request)]
    found = [_of_ready(each) for each in chosen]
    known = {each.setting: each for each in map(_of_ready, own)}
    given: dict[str, tuple[str, ...]] = {text.strip(): () for text in texts if "=" not in text}
    for name, values in {**given, **parse_settings(text for text in texts if "=" in text)}.items():
        like = known.get(_key(name), Question(name))
        found = [each for each in found if each.setting != like.setting]
        found.append(replace(like, values=values or like.values, named=True, exact=bool(values)))
    return [_under(each, loads) for each in found] if loads else found


def _key(name: str) -> str:
    """Return a setting's name as engines write it: a parameter of servers may be typed like its flag."""
    return name.lower().replace("-", "_")


def _of_ready(each: ReadySetting) -> Question:
    return Question(each.setting, each.values, each.loads, each.controls, named=False, why_not=each.why_not)


def _under(question: Question, loads: tuple[str, ...]) -> Question:
    controls = tuple(name for name in question.controls if name in loads)
    others = tuple(name for name in loads if name not in controls)
    return replace(question, loads=others, controls=controls)


def missing_ready(engine: str, ready: Sequence[str]) -> list[LeftOut]:
    """Return the ready ones that were asked for and that servers of an engine do not have."""
    own = {each.name for each in registry.ready_settings(engine)}
    why = "servers of this database have no such setting"
    return [LeftOut(what=name, why=why) for name in ready if name not in own]


def arms_of(asked: Iterable[Question], spec: ServerSpec, known: KnownSettings) -> Arms:
    """Return a lab's arms. UsageError for what the user named and the server does not take; ready ones are left out."""
    found = Arms()
    for question in asked:
        try:
            if question.why_not:
                raise UsageError(question.why_not)
            if _key(question.setting) in SERVER_PARAMETERS:
                found.arms += _of_server(question, spec)
            else:
                found.arms += _of_setting(question, known, found)
        except UsageError as error:
            if question.named:
                raise
            found.leave_out(question.setting, error)
    return found


def with_nothing_changed(arms: Sequence[LabArm]) -> list[LabArm]:
    """Return the arms with the one that must show nothing: the same server twice.

    If an arm needs a new server, this one is a second server, too: at another place of the storage.
    """
    used = {name for arm in arms for name in arm.every_load}
    if not used:
        return []
    loads = tuple(name for name in _NOTHING_UNDER if name in used) or (next(name for name in NAMES if name in used),)
    new = any(arm.effect == Effect.NEW_SERVER for arm in arms)
    effect = Effect.NEW_SERVER if new else Effect.RESTART
    return [*arms, LabArm(setting=NOTHING, value="", here="", effect=effect.value, controls=loads)]


def _of_setting(question: Question, known: KnownSettings, found: Arms) -> list[LabArm]:
    setting = known.find(question.setting)
    others = question.values or setting.choices
    if not others:
        raise UsageError(
            f"{setting.name} is {setting.value} here, and has no list of values", f"give some: {setting.name}=V1,V2"
        )
    arms = []
    for value in others:
        if value.lower() == setting.value.lower():
            continue
        try:
            known.require(setting, value)
        except UsageError as error:
            if question.exact:
                raise
            found.leave_out(f"{setting.name}={value}", error)
            continue
        settings = {setting.name: value}
        arms.append(_arm(question, setting.name, value, setting.value, setting.effect, settings=settings))
    _require_any(arms, f"{setting.name}={setting.value}", found)
    return arms


def _of_server(question: Question, spec: ServerSpec) -> list[LabArm]:
    """Return the arms of a parameter of managed servers, such as the size of the cache."""
    parameter = SERVER_PARAMETERS[_key(question.setting)]
    if not question.values:
        raise UsageError(f"{parameter.name} has no list of values", f"give some: {parameter.name}=V1,V2")
    here, arms = getattr(spec, parameter.field), []
    effect = Effect.NEW_SERVER if parameter.field in MADE_WITH else Effect.RESTART
    for text in question.values:
        try:
            value = parameter.read(text)
        except ValueError as error:
            raise UsageError(f"{parameter.name}={text}: {error}") from error
        if value != here:
            arms.append(_arm(question, parameter.name, text, _format(here), effect, server={parameter.field: value}))
    return arms


def _format(value: object) -> str:
    """Return the value of a field of a server's specification as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return format_bytes(value) if isinstance(value, int) else str(value or "the default")


def _require_any(arms: Sequence[LabArm], here: str, found: Arms) -> None:
    """Raise UsageError if no value is left to compare, unless the reasons are known."""
    name = here.partition("=")[0]
    if not arms and not any(each.what.startswith(f"{name}=") for each in found.left_out):
        raise UsageError(f"the server has {here} already, and no other value is asked for", "give another value")


def _arm(
    question: Question,
    name: str,
    value: str,
    here: str,
    effect: Effect,
    settings: Mapping[str, str] | None = None,
    server: Mapping[str, object] | None = None,
) -> LabArm:
    return LabArm(
        setting=name, value=value, here=here, effect=effect.value, loads=_in_order(question.loads),
        controls=_in_order(question.controls), settings=settings or {}, server=server or {},
    )  # fmt: skip


def _in_order(loads: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in NAMES if name in loads)


def side_s(record: LabRecord, loads: Iterable[str]) -> float:
    """Return about how many seconds it takes to start a server and to make a run under each of these loads."""
    workloads = [record.load(name).workload for name in loads]
    return START_S + sum(_BESIDE_S + float(each["run_time"]) + float(each["warmup"]) for each in workloads)


def round_s(record: LabRecord) -> float:
    """Return about how many seconds a round of all settings takes."""
    both = 0.0
    for setting in dict.fromkeys(arm.setting for arm in record.arms):
        arms = [arm for arm in record.arms if arm.setting == setting]
        base = {load for arm in arms for load in arm.every_load}
        for loads in (base, *(arm.every_load for arm in arms)):
            both += sum(side_s(record, group) for group in groups(arms, loads))
    return both


def needed_s(record: LabRecord, pairs: int) -> float:
    """Return about how many seconds it takes to make so many pairs of everything, its servers included."""
    servers = len(LabServers(ServerSpec.from_record(record.server), record.arms).names)
    return servers * (MAKE_S + REMOVE_S) + pairs * round_s(record)


def require_time(record: LabRecord, pairs: int) -> None:
    """Raise UsageError, with what would fit, if a lab's time is too short for so many pairs of everything."""
    wanted_s = needed_s(record, pairs)
    if record.limit_s >= wanted_s:
        return
    enough, given = (_duration_flag(each) for each in (60 * math.ceil(wanted_s / 60), record.limit_s))
    settings = _settings(record)
    fitting = " ".join(_fitting(record, pairs, settings))
    fewer = f", or fewer settings: slob lab {fitting} --for {given}" if fitting else ""
    raise UsageError(
        f"{pairs} pairs of each of {count_noun(len(settings), 'setting')} take about {enough}, and --for is {given}: "
        "little would be known at its end",
        f"--for {enough}{fewer}; --pairs 1 for a look that settles nothing",
    )


def _duration_flag(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:g}s"


def _settings(record: LabRecord) -> list[str]:
    return [name for name in dict.fromkeys(arm.setting for arm in record.arms) if name != NOTHING]


def _fitting(record: LabRecord, pairs: int, settings: Sequence[str]) -> list[str]:
    """Return the settings, the first ones first, that fit into a lab's time, with the control that all labs have."""
    fitting: list[str] = []
    for name in settings:
        arms = tuple(arm for arm in record.arms if arm.setting in {*fitting, name, NOTHING})
        if needed_s(record.model_copy(update={"arms": arms}), pairs) <= record.limit_s:
            fitting.append(name)
    return fitting
