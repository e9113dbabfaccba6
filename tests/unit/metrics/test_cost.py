"""Prices, and what a million reads and commits cost at one."""

from __future__ import annotations

import pytest

from factories import measurements
from factories.tables import table
from openslob.core.units import Price
from openslob.metrics import PRICED, add_costs, summary
from openslob.metrics.cost import NO_PRICE, NONE_DONE, price_of

PRICED_LOAD = measurements.workload(price="657 EUR/month")


def test_a_price_that_becomes_known_later_gives_the_same_cost():
    priced_run = measurements.record(measurements.measurement(workload=PRICED_LOAD))
    later = add_costs(measurements.record(measurements.measurement()), Price.parse("657 EUR / month"))
    assert later == priced_run
    assert price_of(later) == PRICED_LOAD.price
    other = add_costs(priced_run, Price.parse("$1314/month")).summary["cost_per_million_commits"]
    assert (other.value, other.unit) == (pytest.approx(2.5), "$")
    # Nothing was measured: there is nothing to be priced.
    assert not add_costs(later.model_copy(update={"summary": {}}), Price.parse("1/hour")).summary


def test_without_a_price_or_without_any_operation_there_is_no_cost():
    unpriced = summary(measurements.measurement())
    assert {(unpriced[name].value, unpriced[name].why) for name in PRICED} == {(None, NO_PRICE)}
    quiet = measurements.measurement(workload=PRICED_LOAD, engine=measurements.engine(read_requests=0.0))
    assert (summary(quiet)["cost_per_million_reads"].value, summary(quiet)["cost_per_million_reads"].why) == (
        None, NONE_DONE,
    )  # fmt: skip


@table(
    ("text", "shown", "per_s"),
    [
        ("123.45/month", "123.45/month", 123.45 / 2_628_000),
        ("0.50 eur/hour", "0.50 EUR/hour", 0.5 / 3600),
        ("$8760 per YEAR", "8760 $/year", 1 / 3600),
        (" 100 kr / month", "100 KR/month", 100 / 2_628_000),
    ],
)
def test_a_price_is_read_with_any_currency(text, shown, per_s):
    price = Price.parse(text)
    assert (str(price), price.per_s) == (shown, pytest.approx(per_s))
    assert Price.parse(str(price)) == price


@table(
    "text", ["", "12", "0/month", "-5/month", "5/week", "1,200/month", "5 EUR USD/month", "$5 USD/month", "5 ~/hour"]
)
def test_what_is_no_price_is_refused(text):
    with pytest.raises(ValueError, match="is not a"):
        Price.parse(text)
