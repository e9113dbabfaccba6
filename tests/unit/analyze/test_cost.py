"""Costs of points and of comparisons: never of several prices at once, never a ratio of different currencies."""

from __future__ import annotations

import pytest

from factories.records import Made, physical
from openslob.analyze.ci_gate import GateResult, check, parse_condition
from openslob.analyze.compare import Comparison, compare
from openslob.analyze.curves.points import SEVERAL_PRICES, Run, points
from openslob.analyze.curves.series import PHYSICAL, point_set
from openslob.analyze.differences import Outcome
from openslob.core.units import Price
from openslob.export.openmetrics import openmetrics
from openslob.export.tidy import point_rows, run_rows
from openslob.kinds.sweep.record import SearchRecord, SweepRecord
from openslob.kinds.sweep.report import sweep_document
from openslob.metrics import add_costs
from openslob.report.ci_formats import markdown
from openslob.report.comparison import comparison_document, gate_sentence
from openslob.report.set_summary import cost_at
from openslob.report.terminal import render_text

COST = "cost_per_million_reads"


def run(number: int, price: str | None, visits: float = 54_000, sessions: int = 8) -> Run:
    record = physical(Made(visits=visits, sessions=sessions))
    started = {"engine": {**record.engine, "server_started_at": f"2026-03-01T0{number}:00:00Z"}, "id": f"run-{number}"}
    record = record.model_copy(update=started)
    return Run.of(add_costs(record, Price.parse(price)) if price else record)


def side(first: int, price: str, visits: float) -> list[Run]:
    return [run(first + number, price, visits * (1 + 0.001 * number)) for number in range(3)]


def compared(price_a: str, price_b: str, visits_b: float = 54_000) -> Comparison:
    return compare(side(0, price_a, 54_000), side(3, price_b, visits_b), "a", "b")


def test_at_twice_the_price_and_the_same_rate_a_read_costs_twice_as_much():
    comparison = compared("100 EUR/month", "200 EUR/month")
    assert comparison.mismatches == ()
    found = comparison.pairs[0].differences[COST]
    assert (found.unit, found.unit_b, found.outcome) == ("EUR", None, Outcome.WORSE)
    assert found.pct == pytest.approx(100)
    text = render_text(comparison_document(comparison))
    assert "(3 runs, at 100 EUR/month)" in text
    assert "Cost per 1M read requests" in text
    gate = check(parse_condition(f"{COST} > 50%"), comparison)
    assert gate.result is GateResult.VIOLATED
    # In the currency itself, too: with one decimal, nothing would be left of it.
    absolute = check(parse_condition(f"{COST} > 0.0001"), comparison)
    assert absolute.result is GateResult.VIOLATED
    assert "+0.0007" in gate_sentence(absolute)


@pytest.mark.parametrize("price_b", ["200 USD/month", "200/month"])
def test_different_currencies_have_no_ratio_and_no_gate_passes_on_them(price_b):
    comparison = compared("100 EUR/month", price_b)
    found = comparison.pairs[0].differences[COST]
    assert (found.outcome, found.change, found.pct) == (Outcome.UNKNOWN, None, None)
    assert found.a.mean
    assert found.b.mean
    assert "different currencies: EUR and" in found.why
    for text in (render_text(comparison_document(comparison)), markdown(comparison)):
        row = next(line for line in text.splitlines() if "Cost per 1M read requests" in line)
        assert "other currency" in row
        assert " EUR" in row
    gate = check(parse_condition(f"{COST} > 50%"), comparison)
    assert gate.result is GateResult.UNDECIDED
    assert "different currencies" in gate.why


def test_over_several_points_different_currencies_have_no_mean_either():
    a, b = (
        [run(number, price, sessions=sessions) for number, sessions in enumerate((1, 2, 4), start=3 * at)]
        for at, price in enumerate(("100 EUR/month", "100 USD/month"))
    )
    comparison = compare(a, b, "a", "b")
    assert (comparison.overall[COST].outcome, comparison.overall[COST].pct) == (Outcome.UNKNOWN, None)
    assert check(parse_condition(f"{COST} > 5%"), comparison).result is GateResult.UNDECIDED
    assert "other currency" in render_text(comparison_document(comparison))


def test_repeats_with_different_prices_have_no_mean_cost():
    (point,) = points([run(0, "100 EUR/month"), run(1, "110 EUR/month")])
    assert (point.price, point.mean(COST), point.figure(COST).why) == (None, None, SEVERAL_PRICES.why)
    assert point.mean("pio_read_per_s")
    (same,) = points([run(0, "100 EUR/month"), run(1, "100 EUR/month")])
    assert cost_at(same, PHYSICAL).endswith(" per million reads at 100 EUR/month")


def test_exports_name_price_and_currency():
    priced_run, plain = run(0, "100 EUR/month"), run(1, None)
    assert [row["price"] for row in run_rows([priced_run, plain])] == ["100 EUR/month", None]
    assert point_rows(points([priced_run]))[0]["price"] == "100 EUR/month"
    text = openmetrics([priced_run]) if callable(openmetrics) else ""
    assert 'currency="EUR"' in text


def test_a_search_says_what_reads_cost_at_its_latency_limit():
    runs = [run(number, "100 EUR/month", sessions=sessions) for number, sessions in enumerate((1, 2, 4))]
    search = SearchRecord(
        limit_us=2000, at="p99", most_sessions=8, throughput="pio_read_per_s", sessions=2, best=5e4, latency_us=1e3,
        why="more sessions give less throughput",
    )  # fmt: skip
    record = SweepRecord(
        id="s", name="s", started_at="2026-03-01T00:00:00Z", openslob_version="0", target="embedded", workload={},
        grid={}, seed=1, search=search,
    )  # fmt: skip
    text = " ".join(render_text(sweep_document(record, runs)).split())
    cost = point_set(runs).points[1].mean(COST)
    assert cost
    assert "EUR per million reads at 100 EUR/month; more sessions give less throughput." in text
    assert "per million reads" not in render_text(sweep_document(record, [run(0, None, sessions=2)]))
