"""What latencies are of: an operation, a batch, or batches of several sizes together."""

from __future__ import annotations

import pytest

from openslob.metrics import Timed


@pytest.mark.parametrize(
    ("size", "names"),
    [
        (1, ("operation", "an operation", "operations", "select", "selects", "op", "p99")),
        (16, ("batch of 16 operations", "a batch of 16 operations", "batches of 16 operations",
              "batch of 16 with select",
              "batches of 16 with select", "batch", "batch p99")),
        (None, ("batch of PIPELINE operations", "a batch of PIPELINE operations", "batches of PIPELINE operations",
                "batch of PIPELINE with select", "batches of PIPELINE with select", "batch", "batch p99")),
    ],
)  # fmt: skip
def test_a_latency_is_called_what_it_is_the_time_of(size: int | None, names: tuple[str, ...]) -> None:
    timed = Timed(size)
    found = (timed.one(), timed.a(), timed.many(), timed.one("select"), timed.many("select"), timed.short)
    assert (*found, timed.at("p99")) == names


def test_a_kind_of_operation_has_its_article() -> None:
    assert (Timed().a("update"), Timed().a("select")) == ("an update", "a select")


@pytest.mark.parametrize(
    ("several", "size"),
    [([], 1), ([{}], 1), ([{"pipeline": 8}, {"pipeline": 8}], 8), ([{"pipeline": 8}, {"pipeline": 1}], None)],
)
def test_loads_together_have_a_size_if_it_is_the_same(several: list[dict[str, int]], size: int | None) -> None:
    assert Timed.together(several).size == size
