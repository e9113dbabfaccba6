"""The benchmarks' own logic that could lie without anybody noticing."""

from __future__ import annotations

import sys

import pytest

from factories.paths import ROOT
from factories.tables import table
from openslob.core.workload import Workload
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.slice_procedure import compose_slice

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))

from common import Bar  # noqa: E402
from cpu_profile import REST, parts_of, stacks_of  # noqa: E402
from untimed import TIMING, DriftError, UntimedNames, untimed_slice, without_timing  # noqa: E402


@pytest.fixture(scope="module")
def real() -> str:
    return compose_slice(PostgresNames(), 1, Workload()).as_string()


def test_the_untimed_loop_is_the_real_one_less_its_timing(real: str) -> None:
    untimed = untimed_slice(UntimedNames(), 1, Workload()).decode().replace("slice_1_untimed", "slice_1")
    removed = sum(len(piece) * times for piece, times in TIMING.items())
    assert len(real) - len(untimed) == removed
    assert "count(c2) INTO found_rows" in untimed


@table("piece", TIMING)
def test_a_piece_of_timing_that_changed_is_noticed(real: str, piece: str) -> None:
    head, found, tail = real.rpartition(piece)
    assert found
    with pytest.raises(DriftError, match="occurs"):
        without_timing(f"{head}NULL;{tail}")


@table("added", ["ended_at := clock_timestamp() + '0';", "sum_us[1] := 0;", "PERFORM us;"])
def test_timing_that_is_not_known_is_noticed(real: str, added: str) -> None:
    with pytest.raises(DriftError):
        without_timing(real.replace("op := op + 1;", f"op := op + 1; {added}"))


def test_a_sample_of_the_profile_belongs_to_the_innermost_part_that_it_is_in() -> None:
    printed = """postgres
            ffff1 __libc_pread
            ffff2 StartReadBuffer.isra.0
            ffff3 standard_ExecutorRun
            ffff4 exec_stmts

postgres
            ffff3 standard_ExecutorRun

postgres
            ffff5 AllocSetAlloc
            ffff3 standard_ExecutorStart
            ffff4 exec_stmts
"""
    stacks = list(stacks_of(printed.splitlines()))
    assert [len(stack) for stack in stacks] == [4, 1, 3]
    assert dict(parts_of(stacks)) == {
        "reads of the device: kernel, driver, hypervisor": 1,
        "executor: start and end": 1,
    }
    assert REST not in parts_of(stacks)


def test_every_script_is_explained() -> None:
    explained = (BENCH / "README.md").read_text(encoding="utf-8")
    helpers = {"common.py", "foreign.py", "limits.py", "peers.py"}
    scripts = {path.name for path in BENCH.glob("*.py")} - helpers
    assert {name for name in scripts if f"]({name})" in explained} == scripts


@table(
    ("bar", "value", "judged"),
    [
        (Bar(2), 2.0, "bar ≥ 2: reached"),
        (Bar(2), 1.99, "bar ≥ 2: MISSED"),
        (Bar(3, at_least=False), 3.1, "bar ≤ 3: MISSED"),
    ],
)
def test_a_bar_is_judged(bar: Bar, value: float, judged: str) -> None:
    assert bar.judge(value) == judged
