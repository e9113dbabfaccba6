"""Pictures of calibrations and of dd: the medians of the steps, the depth, the result and the limit."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from factories.storages import BLOCK, CALIBRATED, WAYS, reads, record, step
from factories.vega_lite import validate
from openslob.core.units import MIB
from openslob.kinds.storage.dd import LOOKED, NOWHERE
from openslob.kinds.storage.pictures import (
    EXAMINED,
    ONLY_READ,
    calibrations,
    curve_rows,
    depth_rows,
    storage_pictures,
    way_rows,
)
from openslob.kinds.storage.record import SYNCED, StorageLoad, StorageRecord, StorageStep, storage_alone
from openslob.kinds.storage.report import curves_table, storage_document, storage_headline, storage_set_document
from openslob.metrics import storage_figure
from openslob.record.model import Status
from openslob.report.charts.picture import Picture, svg, whole_spec
from openslob.report.html.page import page_of, render_page

pytestmark = pytest.mark.any_python


def texts(picture: Picture) -> str:
    return json.dumps(whole_spec(picture), ensure_ascii=False)


def test_a_calibration_is_drawn_as_latency_over_the_rate_by_depth() -> None:
    rows = curve_rows(CALIBRATED, BLOCK, "iops", 4)
    mean = [(row["in_flight"], row["rate"], row["us"], row["times"]) for row in rows if row["line"] == "mean"]
    assert mean == [(1, 15_000, 60, 1), (2, 27_000, 75, 1), (4, 59_000, 115, 2), (8, 61_000, 400, 1)]
    assert [row["in_flight"] for row in rows if row["line"] == "p99"] == [1, 2, 4]  # that of 8 is not known
    assert [row["line"] for row in rows if row["result"]] == ["mean", "p99"]
    assert [row["rate"] for row in rows if row["line"] == "mean, contents verified"] == [50_000]
    assert [row["rate"] for row in curve_rows(CALIBRATED, MIB, "mb_per_s", 2)] == [900, 1_100] * 2


def test_the_limit_is_drawn_where_it_is_near_and_else_named() -> None:
    near, _ = storage_pictures(CALIBRATED)
    far, _ = storage_pictures(CALIBRATED.model_copy(update={"asked": {**CALIBRATED.asked, "latency_limit_us": 9e6}}))
    assert len(near.panels) == 2
    assert "limit 200 µs" in texts(near)
    assert not any("limit" in note for note in near.notes)
    assert "limit 9" not in texts(far).replace("The limit", "")
    assert any("is above the picture" in note for note in far.notes)


def test_curves_by_requests_in_flight_have_reads_writes_and_syncs() -> None:
    written = [
        reads(BLOCK, (depth, 1000.0 * depth, 50.0, 90.0)).model_copy(
            update={"load": StorageLoad(block_bytes=BLOCK, in_flight=depth, engine=engine, read_pct=0, pattern=pattern)}
        )
        for engine, pattern in (("io_uring", "random"), (SYNCED, "sequential"))
        for depth in (1, 2)
    ]
    made = CALIBRATED.model_copy(update={"steps": (*CALIBRATED.steps, *written)})
    table = curves_table(made)
    assert table.head == ("depth", "reads/s", "mean", "p99", "writes/s", "p99", "syncs/s", "p99", "MB/s")
    assert table.rows[1] == ("2", "27,000", "75 µs", "130 µs", "2,000", "90.0 µs", "2,000", "90.0 µs", "1,100")
    assert table.rows[3] == ("8", "61,000", "400 µs", *["–"] * 6)
    assert {row["line"] for row in depth_rows(made, {"iops": ""})} == {"reads", "writes", "syncs"}
    # What was read is drawn as before: writes are no points of it.
    assert curve_rows(made, BLOCK, "iops", 4) == curve_rows(CALIBRATED, BLOCK, "iops", 4)
    assert storage_alone(made).points == storage_alone(CALIBRATED).points


def test_a_search_without_a_result_says_what_it_knows() -> None:
    summary = {name: figure for name, figure in CALIBRATED.summary.items() if not name.startswith("max_iops")}
    summary["max_iops"] = storage_figure("max_iops", None, "over")
    asked = {**CALIBRATED.asked, "latency_limit_us": 100.0}
    assert storage_headline(CALIBRATED.model_copy(update={"summary": summary, "asked": asked})) == (
        "No rate keeps a p99 of 100 µs: one random 8 KB read at a time has a p99 of 120 µs, 15,000 reads/s "
        "(--latency-limit none finds the highest rate); 1,100 MB/s in 1 MB reads."
    )
    ended = CALIBRATED.model_copy(update={"summary": {}, "status": Status.INTERRUPTED})
    assert storage_headline(ended) == (
        "There is no result: it ended after 8 steps. The best of them: 61,000 random 8 KB reads/s (8 in flight, "
        "p99 –); 1,100 MB/s in 1 MB reads."
    )


def test_dd_is_drawn_as_bars_with_their_ranges_per_mb() -> None:
    rates, cpu = way_rows(WAYS, "mb_per_s"), way_rows(WAYS, "cpu_us_per_io")
    assert [(row["name"], row["what"], row["value"], row["low"], row["high"]) for row in rates[:2]] == [
        (NOWHERE, ONLY_READ, 1100, 1000, 1200), (LOOKED, EXAMINED, 600, 600, 600),
    ]  # fmt: skip
    assert [row["what"] for row in rates[2:]] == [ONLY_READ, EXAMINED]
    assert [row["value"] for row in cpu] == [85, 780, 9 * 128, 9 * 128]


@pytest.mark.parametrize("made", [CALIBRATED, CALIBRATED.model_copy(update={"tool": "ceiling"}), WAYS])
def test_every_picture_is_valid_drawn_and_on_the_page(made: StorageRecord) -> None:
    html = render_page(page_of(storage_document(made)))
    for picture in storage_pictures(made):
        validate({name: value for name, value in whole_spec(picture).items() if name != "config"})
        assert made.tool == "ceiling" or "NaN" not in svg(picture)
        assert picture.table is not None
        assert picture.description
        assert f'<figure id="{picture.name}"' in html


@pytest.mark.parametrize("tool", ["calibrate", "ceiling", "dd", "compare", "orion"])
def test_a_measurement_without_steps_has_a_page_without_pictures(tool: str) -> None:
    stopped = record(tool).model_copy(update={"status": Status.FAILED, "errors": ("stopped by Ctrl-C",), "asked": {}})
    page = page_of(storage_document(stopped))
    assert page.pictures == ()
    (banner,) = page.banners
    assert banner.endswith(" failed: stopped by Ctrl-C")
    assert "nothing to draw" in render_page(page)


def test_unknown_figures_are_left_out_of_orion_s_pictures() -> None:
    def load(small: int, p999: float | None) -> StorageStep:
        figures: dict[str, Any] = dict.fromkeys(("p50_us", "p90_us", "p99_us", "max_us", "mean_us"), 100.0)
        point = StorageLoad(block_bytes=BLOCK, in_flight=small, engine="io_uring")
        return step("small", point, iops=1000.0 * small, mb_per_s=8.0, small=small, large=0, p999_us=p999, **figures)

    made = record("orion", load(1, None), load(2, 300.0))
    latency = next(picture for picture in storage_pictures(made) if picture.name == "orion-latency")
    assert "NaN" not in svg(latency)


def test_several_measurements_share_a_page_and_calibrations_a_picture() -> None:
    other = CALIBRATED.model_copy(update={"id": "y", "status": Status.INTERRUPTED, "errors": ("stopped",)})
    page = page_of(storage_set_document([CALIBRATED, other, WAYS.model_copy(update={"id": "z"})]))
    assert [picture.name for picture in page.pictures] == [
        "calibrations", "calibration-1", "calibration-depth-1", "calibration-2", "calibration-depth-2", "dd-3",
    ]  # fmt: skip
    rows = page.pictures[0].table
    assert rows is not None
    assert {row[3] for row in rows.rows} == {"x", "y"}
    (banner,) = page.banners
    assert re.fullmatch(r"y: .* interrupted: stopped", banner)
    assert [answer.partition(":")[0] for answer in page.answers] == ["x", "y", "z"]
    assert calibrations([CALIBRATED]) == ()
