"""Checks of a record: every figure derived again from its raw files, and what that comes to in words."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openslob.analyze.derive import Derived
from openslob.analyze.only_stated import DOCUMENT, GROUPS, Stated
from openslob.core.disk import scratch_folder
from openslob.core.errors import VerdictError
from openslob.kinds.checked_runs import NOTHING, RunCheck, check, order_of
from openslob.kinds.contract import kind_of
from openslob.record import bundle as bundles
from openslob.record import digests, finding, store
from openslob.record.bundle import Opened
from openslob.record.digests import Checked
from openslob.record.facts import leaves
from openslob.record.finding import Found
from openslob.record.kinds import AnyKind, of_single_runs
from openslob.report.format import fold_table, wrap

__all__ = [
    "RunCheck", "Verification", "open_record", "order_of", "render_verification", "state_outcome", "verification_json",
    "verify",
]  # fmt: skip
_MOST_NAMED = 20


@dataclass(frozen=True)
class Verification:
    """What the check of a record found: of its runs, of its own document, and of the bundle that it came in.

    ``raw`` says why figures of the record's own can't be derived; else it is empty. ``digests`` are its folder's.
    ``parts`` is how many the document of a record of several parts has.
    """

    kind: AnyKind
    id: str
    runs: tuple[RunCheck, ...]
    numbers: tuple[Derived, ...] = ()
    raw: str = ""
    bundle: Opened | None = None
    digests: Checked = field(default_factory=Checked)
    parts: int = 0

    @property
    def every(self) -> Iterator[tuple[str, Derived]]:
        """All numbers, with the run that each is of; empty for the record itself."""
        yield from (("", each) for each in self.numbers)
        yield from ((run.id, each) for run in self.runs for each in run.numbers)

    @property
    def differing(self) -> list[tuple[str, Derived]]:
        """The numbers, and all other parts of records, that differ from what the raw files say."""
        statements = ((run.id, each) for run in self.runs for each in run.statements)
        return [(run, each) for run, each in (*self.every, *statements) if each.differs]

    @property
    def unknown(self) -> list[tuple[str, Derived]]:
        """The numbers that the raw files do not say."""
        return [(run, each) for run, each in self.every if each.value is None]

    @property
    def changed(self) -> tuple[str, ...]:
        """What of the bundle, or else of the record's folder, is not as it was written."""
        return (self.bundle.changed if self.bundle else ()) or self.digests.changed

    @property
    def once(self) -> Mapping[Stated, int]:
        """How many parts of each group are stated only once, so that nothing shows whether they are true."""
        found = {group: [run.once[group] for run in self.runs if group in run.once] for group in GROUPS}
        found[DOCUMENT] = [self.parts] if self.parts else []
        return {group: sum(parts) for group, parts in found.items() if parts}

    @property
    def rules(self) -> list[str]:
        """Why verdicts of runs are not compared, each reason once."""
        return list(dict.fromkeys(run.rules for run in self.runs if run.rules))

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words, the worst first; none if the record is what it says."""
        since = "the bundle was made" if self.bundle and self.bundle.changed else "the record was finished"
        found = [f"changed since {since}: {each}" for each in self.changed]
        found += [_in_words(run, each) for run, each in self.differing]
        found += [f"{run.id}: {each}" for run in self.runs for each in run.faults]
        return [*found, *(f"{run.id}: {run.problem}" for run in self.runs if run.problem)]


def _in_words(run: str, number: Derived) -> str:
    of = f"{run}: " if run else ""
    recorded = NOTHING if number.recorded is None else repr(number.recorded)
    derived = NOTHING if number.value == NOTHING else repr(number.value)
    return f"{of}{number.name} is {recorded}, and the raw files say {derived}"


@contextmanager
def open_record(
    record: str, results: Path, tell: Callable[[str], None] = store.say_nothing
) -> Iterator[tuple[Found, Opened | None]]:
    """Find what ``record`` names: a record, or a bundle, which is unpacked for the block.

    Raises:
        UsageError: There is no such record.
        VerdictError: The bundle has no record that can be read.

    """
    path = Path(finding.nameable(record))
    if not bundles.is_bundle(path):
        yield finding.one(record, results, tell), None
        return
    with scratch_folder("verify") as unpacked:
        opened = bundles.unpack(path, unpacked)
        if opened.record is None:
            why = "; ".join(opened.changed) or "its folder is empty"
            raise VerdictError(f"{path} has no record that can be read: {why}")
        yield opened.record, opened


def verify(found: Found, bundle: Opened | None = None) -> Verification:
    """Derive every figure of a record again, and of all its runs. SlobError if the record can't be read."""
    sealed = digests.check(found.folder)
    if found.kind is of_single_runs():
        run = check(found.folder, found.path)
        return Verification(found.kind, found.folder.name, (run,), bundle=bundle, digests=sealed)
    kind = kind_of(found)
    runs = tuple(check(entry.path, entry.path) for entry in store.find(found.folder))
    numbers, whole = tuple(kind.numbers(found.folder)), store.read_document(found.folder / kind.files[0])
    parts = max(0, sum(1 for _ in leaves(whole)) - sum(each.value is not None for each in numbers))
    return Verification(kind, found.folder.name, runs, numbers, kind.why_not_derived, bundle, sealed, parts)


def render_verification(found: Verification, columns: int | None = None) -> str:
    """Return the text: what was compared, what is the same, what differs, and what can't be derived."""
    lines = [f"{found.kind} {found.id}"]
    if found.bundle:
        made = found.bundle.manifest
        size = sum(each.bytes for each in made.files.values())
        state = f"{len(found.changed)} not as written" if found.changed else "all as written"
        lines += [f"bundle      made by openslob {made.openslob_version} with Python {made.python}"]
        lines += [f"checksums   {len(made.files)} files, {size:,} bytes: {state}", f"SHA-256     {found.bundle.sha256}"]
    else:
        lines += _fact("digests     ", _of_digests(found), columns)
    lines += _fact("figures     ", _of_figures(found), columns)
    if said := sum(len(run.statements) for run in found.runs):
        off = sum(each.differs for run in found.runs for each in run.statements)
        state = f"{off} differ" if off else "all the same"
        what = f"verdicts, settings and all else that is stated, {said:,} parts"
        lines += _fact("statements  ", f"{what}, made again of raw files and facts: {state}", columns)
    for why in found.rules:
        lines += _fact("verdicts    ", why, columns)
    if slices := sum(run.slices for run in found.runs):
        off = sum(run.out_of_order for run in found.runs)
        state = f"{off} differ from what the seed says" if off else "in every session as the seed says"
        what = f"selects, updates and scans by the end of each of {slices:,} slices"
        lines += _fact("operations  ", f"{what}: {state}", columns)
    if found.faults:
        lines += ["", "WHAT IS WRONG"]
        for fault in found.faults[:_MOST_NAMED]:
            lines += wrap(fault, columns=columns) if columns else [fault]
        if len(found.faults) > _MOST_NAMED:
            lines.append(f"and {len(found.faults) - _MOST_NAMED} more (--json has all)")
    return "\n".join([*lines, *_not_derived(found, columns), *_stated_once(found, columns)])


def state_outcome(found: Verification) -> str:
    """Return what was verified of a record without a fault, in a line."""
    every, known = len(list(found.every)), sum(each.value is not None for _, each in found.every)
    if not known:
        return "only the checksums could be compared" if found.bundle else "nothing could be compared"
    some = "the" if known == every else f"{known:,} of {every:,}"
    rest = "all else but verdicts" if found.rules else "verdicts and all else"
    more = f", and {rest} from them and what is stated once" if any(run.statements for run in found.runs) else ""
    return f"verified: {some} figures follow from the raw files{more}"


def _fact(name: str, text: str, columns: int | None) -> list[str]:
    wide = textwrap.wrap(text, max(columns - len(name), 20)) if columns else [text]
    return [f"{name if number == 0 else ' ' * len(name)}{line}" for number, line in enumerate(wide)]


def _of_digests(found: Verification) -> str:
    if found.digests.changed:
        return f"{len(found.digests.changed)} not as written"
    if not found.digests.sha256:
        return "none: the record is older than they are, or its end was never written"
    return f"all files as written; SHA-256 of all {found.digests.sha256}"


def _of_figures(found: Verification) -> str:
    every = list(found.every)
    if not every:
        return found.raw or "none: the record has no figures, or no raw files"
    known = len(every) - len(found.unknown)
    of_runs = f" of {len(found.runs)} runs" if len(found.runs) > 1 else ""
    state = f"{len(found.differing)} differ" if found.differing else "all the same"
    raw = f"; {found.raw}" if found.raw else ""
    return f"{known:,} of {len(every):,}{of_runs} derived again from the raw files: {state}{raw}"


def _not_derived(found: Verification, columns: int | None) -> list[str]:
    if not found.unknown:
        return []
    by_name: dict[tuple[str, str], int] = {}
    for _, each in found.unknown:
        by_name[each.name, each.why] = by_name.get((each.name, each.why), 0) + 1
    rows = [(name, str(count), why) for (name, why), count in by_name.items()][:_MOST_NAMED]
    more = [f"  and {len(by_name) - _MOST_NAMED} more"] if len(by_name) > _MOST_NAMED else []
    return ["", "NOT DERIVED", *fold_table(("figure", "runs", "why"), rows, columns, texts={0, 2}), *more]


def _stated_once(found: Verification, columns: int | None) -> list[str]:
    if not found.once:
        return []
    rows = [(group.name, f"{parts:,}" if parts else "", group.why) for group, parts in found.once.items()]
    return ["", "STATED ONCE", *fold_table(("what", "parts", "why nothing shows it"), rows, columns, texts={0, 2})]


def verification_json(found: Verification) -> dict[str, Any]:
    """Return the same as plain values."""
    bundle = found.bundle
    return {
        "kind": str(found.kind),
        "id": found.id,
        "bundle": bundle and {"sha256": bundle.sha256, **bundle.manifest.model_dump(mode="json", exclude={"files"})},
        "changed": list(found.changed),
        "compared": sum(each.value is not None for _, each in found.every),
        "differing": [
            {"run": run, "figure": each.name, "recorded": each.recorded, "derived": each.value}
            for run, each in found.differing
        ],
        "not_derived": [{"run": run, "figure": each.name, "why": each.why} for run, each in found.unknown],
        "why_not_derived": found.raw or None,
        "digest": found.digests.sha256 or None,
        "statements": sum(len(run.statements) for run in found.runs),
        "verdicts_not_compared": found.rules,
        "stated_once": [{"what": group.name, "parts": parts, "why": group.why} for group, parts in found.once.items()],
        "slices": sum(run.slices for run in found.runs),
        "faults": found.faults,
        "verified": not found.faults,
    }
