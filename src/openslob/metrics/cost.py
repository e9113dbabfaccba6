"""What reads and commits cost: the price of the server for the time in which there were a million of them.

The price is the user's, and so is the currency, which is the unit of these figures in a record. Nothing converts one
currency into another.
"""

from __future__ import annotations

from collections.abc import Callable

from openslob.core.errors import UsageError
from openslob.core.measurement import Measurement, Observed
from openslob.core.units import Price
from openslob.core.workload import PRICE
from openslob.metrics.quantity import Quantity
from openslob.record.model import Figure, RunRecord

# The unit of figures whose unit is the currency of a price.
CURRENCY = "currency"
NO_PRICE = "no price of the server was given (--price)"
NONE_DONE = "there was none in the window"
_MILLION = 1e6


def cost_per_million(price: Price | None, rate: Quantity) -> Quantity:
    """Return the cost of a million operations at a rate of ``rate`` per second."""
    if price is None:
        return Quantity.missing(NO_PRICE)
    return Quantity(_MILLION * price.per_s).per(rate, NONE_DONE)


def cost_at(rate: Callable[[Observed], Quantity]) -> Callable[[Observed], Quantity]:
    """Return the function that computes what a million costs of what ``rate`` counts per second."""

    def cost(measurement: Observed) -> Quantity:
        return cost_per_million(_price_of_run(measurement), rate(measurement))

    return cost


def _price_of_run(measurement: Observed) -> Price | None:
    return measurement.workload.price if isinstance(measurement, Measurement) else None


def unit_in(measurement: Observed, unit: str) -> str:
    """Return the unit of a figure of this measurement: the currency of its price in the place of `CURRENCY`."""
    price = _price_of_run(measurement)
    return unit if unit != CURRENCY or price is None else price.currency


def price_in(text: str) -> Price:
    """Return the price that a user wrote. UsageError if it is none."""
    try:
        return Price.parse(text)
    except ValueError as error:
        raise UsageError(str(error), "an amount above 0 and /hour, /month or /year") from None


def price_of(record: RunRecord) -> Price | None:
    """Return the price of the server of a record; None if there is none."""
    text = record.spec.get(PRICE)
    return Price.parse(str(text)) if text else None


def cost_in(record: RunRecord, price: Price, rate_name: str) -> Figure:
    """Return the cost at this price of a million of what the figure ``rate_name`` of a record counts per second."""
    rate = record.summary.get(rate_name)
    known = Quantity.missing("not recorded") if rate is None else Quantity(rate.value, rate.why or "")
    cost = cost_per_million(price, known)
    return Figure.of(cost.value, price.currency, cost.why)
