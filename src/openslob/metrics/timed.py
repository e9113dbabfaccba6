"""What a latency is the time of: the one place from which texts, axes, exports and views take its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

OPERATION = "operation"
_PARAMETER = "pipeline"


@dataclass(frozen=True)
class Timed:
    """What a latency is the time of: an operation, or the batch in which a session sent it with others (PIPELINE).

    ``size`` is the operations of a batch, 1 without batches; None: it is not the same for all that is shown together.
    """

    size: int | None = 1

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Return what the latencies of a load with these parameters are of."""
        return cls(int(parameters.get(_PARAMETER) or 1))

    @classmethod
    def together(cls, several: Iterable[Mapping[str, Any]]) -> Self:
        """Return what the latencies of several loads are of, by the parameters of each."""
        sizes = {cls.of(parameters).size for parameters in several}
        return cls(sizes.pop() if len(sizes) == 1 else None) if sizes else cls()

    @property
    def is_batch(self) -> bool:
        """Whether operations were sent in batches, or some of them."""
        return self.size != 1

    @property
    def short(self) -> str:
        """The word at the head of a narrow column."""
        return "batch" if self.is_batch else "op"

    def at(self, statistic: str) -> str:
        """Return the name of a statistic, such as ``p99``, where nothing else says what it is of."""
        return f"batch {statistic}" if self.is_batch else statistic

    def one(self, kind: str = OPERATION) -> str:
        """Return the name of one: a kind of operation, or a batch with it."""
        if not self.is_batch:
            return kind
        batch = f"batch of {self.size or _PARAMETER.upper()}"
        return f"{batch} operations" if kind == OPERATION else f"{batch} with {kind}"

    def a(self, kind: str = OPERATION) -> str:
        """Return the name of one with its article."""
        return f"{'an' if self.one(kind)[:1] in 'aeiou' else 'a'} {self.one(kind)}"

    def many(self, kind: str = OPERATION) -> str:
        """Return the name of several."""
        return self.one(kind).replace("batch", "batches", 1) if self.is_batch else f"{kind}s"


# What latencies are of by default: one operation.
SINGLE = Timed()
