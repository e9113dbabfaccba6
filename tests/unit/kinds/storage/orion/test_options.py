"""The points of Orion's matrix, from its options: known answers from its published summaries, and what always holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.core.errors import UsageError
from openslob.kinds.storage.orion.options import (
    LoadMatrix,
    LoadPoint,
    MatrixKind,
    Options,
    OrionRun,
    levels,
    load_matrix,
)

DISKS = st.integers(1, 200)
LOADS = st.integers(0, 300)


def cells(found: LoadMatrix) -> set[tuple[int, int]]:
    return {(point.small, point.large) for point in found.points}


def advanced(matrix: MatrixKind, **loads: int) -> Options:
    return Options(OrionRun.ADVANCED, matrix=matrix, **loads)


# Orion's total counts the point without a load, which is not measured.
@table(
    ("disks", "smalls", "larges", "orions_total"),
    [
        (1, (0, 1, 2, 3, 4, 5), (0, 1, 2), 8),
        (4, tuple(range(21)), tuple(range(9)), 29),
        (8, (0, 1, *range(2, 41, 2)), tuple(range(17)), 38),
    ],
)
def test_simple_has_the_loads_of_orion(disks, smalls, larges, orions_total):
    found = load_matrix(Options(OrionRun.SIMPLE), disks)
    assert (found.smalls, found.larges) == (smalls, larges)
    assert len(found.points) == orions_total - 1


def test_oltp_has_twenty_small_loads_a_disk_and_no_large_one():
    found = load_matrix(Options(OrionRun.OLTP), 1)
    assert [(point.small, point.large) for point in found.points] == [(small, 0) for small in range(1, 21)]


def test_dss_has_fifteen_large_loads_a_disk_and_no_small_one():
    found = load_matrix(Options(OrionRun.DSS), 1)
    assert [(point.small, point.large) for point in found.points] == [(0, large) for large in range(1, 16)]


def test_small_loads_come_first_and_then_large_ones():
    found = load_matrix(Options(OrionRun.SIMPLE), 1)
    assert [str(point) for point in found.points] == [
        *(f"Small={small} and Large=0" for small in range(1, 6)),
        *(f"Small=0 and Large={large}" for large in (1, 2)),
    ]


@given(top=LOADS)
def test_levels_go_from_1_to_the_top_in_about_twenty_steps(top):
    found = levels(top)
    assert list(found) == sorted(set(found))
    assert len(found) <= 22
    assert (found[0], found[-1]) == (1, top) if top else found == ()


@given(disks=DISKS)
def test_basic_is_the_first_row_and_the_first_column(disks):
    found = load_matrix(Options(OrionRun.SIMPLE), disks)
    assert cells(found) == {(small, 0) for small in levels(5 * disks)} | {(0, large) for large in levels(2 * disks)}


@given(disks=DISKS)
def test_detailed_is_the_whole_matrix_without_the_point_of_no_load(disks):
    found = load_matrix(Options(OrionRun.NORMAL), disks)
    everything = {(small, large) for small in found.smalls for large in found.larges}
    assert cells(found) == everything - {(0, 0)}
    assert load_matrix(advanced(MatrixKind.DETAILED), disks) == found


@given(disks=DISKS, small=LOADS, large=LOADS)
def test_point_is_that_point(disks, small, large):
    if not small and not large:
        with pytest.raises(UsageError, match="no load at all"):
            advanced(MatrixKind.POINT, num_small=0, num_large=0)
        return
    found = load_matrix(advanced(MatrixKind.POINT, num_small=small, num_large=large), disks)
    assert found.points == (LoadPoint(large, small),)


@given(disks=DISKS, small=LOADS)
def test_col_varies_the_large_load(disks, small):
    found = load_matrix(advanced(MatrixKind.COL, num_small=small), disks)
    assert {point.small for point in found.points} == {small}
    assert [point.large for point in found.points] == [*([0] if small else []), *levels(2 * disks)]


@given(disks=DISKS, large=LOADS)
def test_row_varies_the_small_load(disks, large):
    found = load_matrix(advanced(MatrixKind.ROW, num_large=large), disks)
    assert {point.large for point in found.points} == {large}
    assert [point.small for point in found.points] == [*([0] if large else []), *levels(5 * disks)]


@given(disks=DISKS, small=LOADS, large=st.integers(1, 300))
def test_max_is_all_up_to_both_numbers(disks, small, large):
    found = load_matrix(advanced(MatrixKind.MAX, num_small=small, num_large=large), disks)
    assert cells(found) == {(s, n) for s in (0, *levels(small)) for n in (0, *levels(large))} - {(0, 0)}
    assert max(found.points) == LoadPoint(large, small)


@given(disks=DISKS, run=st.sampled_from([OrionRun.SIMPLE, OrionRun.NORMAL, OrionRun.OLTP, OrionRun.DSS]))
def test_no_point_comes_twice_and_none_is_without_load(disks, run):
    found = load_matrix(Options(run), disks)
    assert len(cells(found)) == len(found.points)
    assert all(point.small or point.large for point in found.points)
    assert {point.small for point in found.points} <= set(found.smalls)
    assert {point.large for point in found.points} <= set(found.larges)


@table(
    ("options", "why"),
    [
        ({"run": OrionRun.SIMPLE, "matrix": MatrixKind.BASIC}, "--matrix needs --run advanced"),
        ({"run": OrionRun.OLTP, "num_small": 4}, "--num-small needs --run advanced"),
        ({"run": OrionRun.ADVANCED, "matrix": MatrixKind.COL}, "--matrix col needs --num-small"),
        ({"run": OrionRun.ADVANCED, "matrix": MatrixKind.ROW}, "--matrix row needs --num-large"),
        ({"run": OrionRun.ADVANCED, "matrix": MatrixKind.MAX, "num_small": 4}, "--matrix max needs --num-large"),
        ({"run": OrionRun.ADVANCED, "num_large": 4}, "--num-large has no effect with --matrix basic"),
        ({"run": OrionRun.SIMPLE, "size_small": 2_097_152}, "--size-large is below --size-small"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, why):
    with pytest.raises(UsageError, match=why):
        Options(**options)
