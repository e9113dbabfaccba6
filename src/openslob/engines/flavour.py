"""Flavours: which product answers behind a protocol, and what a run's figures mean there.

An engine has a table of those that it knows, in ``flavours.py`` of its folder: one row each, and `docs/flavours.md` is
made of them. One query asks for all signs, on the first connection and before anything is set or created.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from openslob.core.errors import SlobError

_OFFER = "docs/flavours.md lists what can be measured; --loop client would not help here"


@dataclass(frozen=True)
class Flavour:
    """One product that speaks a protocol: how it is recognised, and what the method's figures mean there.

    Attributes:
        product: Its name in records; ``{family}`` stands for the product whose protocol it speaks.
        source: Where its answers are documented; empty for the original, on which the tests run.
        text: A pattern of its version text; a group is its own version.
        signs: What only this product has, by kind and name such as ``function aurora_version``, or with ``=`` and how
            its value begins; one of them is enough.
        versioned_by: The sign whose value is its own version.
        refused: Why nothing can be measured; empty where something can.
        no_loop: Why it can't run the work loop, so that only the client can; empty where it can.
        no_device: Why no read of the engine is known to be one of a device; empty where they may be.
        placement: By what it is proved that each row has a block of its own; empty where nothing proves it.
        lock: By what two loads or runs are kept apart; empty where nothing does.
        settings: Where a service takes settings of the server; empty where the server itself does.
        unit: What a visited row is where it has no block of its own; empty where it is a block.
        limits: What its figures do not mean besides, in one sentence without a full stop; empty if they mean the same.

    """

    product: str
    source: str = ""
    text: str = ""
    signs: Sequence[str] = ()
    versioned_by: str = ""
    refused: str = ""
    no_loop: str = ""
    no_device: str = ""
    placement: str = ""
    lock: str = ""
    settings: str = ""
    unit: str = ""
    limits: str = ""

    @property
    def meaning(self) -> str:
        """What must be known of its figures, in one sentence without a full stop; empty if they mean the same."""
        no_device = f"{self.no_device}; no read of the engine is known to be one of a device" if self.no_device else ""
        return "; ".join(filter(None, (no_device, self.limits)))


@dataclass(frozen=True)
class Answers:
    """What a server says of itself: version text, number of the family's version, and the signs that it has.

    ``family`` is the product whose protocol it speaks; ``signs`` maps each sign to its value, if it has one.
    """

    family: str
    number: str
    text: str
    signs: Mapping[str, str] = field(default_factory=dict)

    def has(self, sign: str) -> bool:
        """Return whether the server has a sign, as a row of the table writes it."""
        name, _, begin = sign.partition("=")
        return self.signs.get(name, "").startswith(begin) if name in self.signs else False


@dataclass(frozen=True)
class Identity:
    """Which product a server is, as far as its answers tell.

    ``version`` is its own, ``number`` that of the ``family`` whose protocol it speaks. ``by`` is what showed it,
    ``says`` its version text. ``no_device`` is as in `Flavour`; ``caution`` is what must be known before any figure.
    ``settings`` is where a setting of the server is changed, if not on the server, ``no_loop`` and ``unit`` as in
    `Flavour`.
    """

    product: str
    version: str
    family: str
    number: str
    by: str
    says: str
    no_device: str = ""
    caution: str = ""
    versioned_by: str = ""
    settings: str = ""
    no_loop: str = ""
    unit: str = ""

    def to_record(self) -> dict[str, str]:
        """Return what a record has beside product and version; only what says something."""
        beside = ("family", "number", "by", "says", "no_device", "caution", "unit")
        return {name: value for name in beside if (value := getattr(self, name))}


def recognise(table: Iterable[Flavour], answers: Answers, target: str) -> Identity | None:
    """Return what the first row is that fits the answers; None if none does.

    SlobError when it is known that nothing can be measured there.
    """
    for row in table:
        match = re.search(row.text, answers.text) if row.text else None
        sign = next((sign for sign in row.signs if answers.has(sign)), "")
        if match or sign:
            said = match[1] if match and match.lastindex else answers.signs.get(row.versioned_by)
            product = row.product.format(family=answers.family)
            found = Identity(
                product,
                said or answers.number,
                answers.family,
                answers.number,
                "version text" if match else sign,
                answers.text,
                row.no_device,
                f"{product}: {row.meaning}" if row.meaning else "",
                row.versioned_by,
                row.settings and f"in the {row.settings} of the service, as a setting and not as a statement",
                row.no_loop,
                row.unit,
            )
            if row.refused:
                raise refusal(target, f"{product} {found.version}", row.refused)
            return found
    return None


def unknown_relative(answers: Answers, doubts: Sequence[str]) -> Identity:
    """Return a server that is none of those known; ``doubts`` are why it is not the original."""
    product = f"unknown relative of {answers.family}"
    why = "; ".join(doubts) or f"its version text is {answers.text!r}"
    caution = f"An {product} ({why}): its figures mean what those of {answers.family} do only where it is the same"
    return Identity(product, answers.number, answers.family, answers.number, why, answers.text, caution=caution)


def require_signs(needed: Mapping[str, str], answers: Answers, target: str, product: str) -> None:
    """Raise SlobError for the first sign that is not there; ``needed`` says what the method needs each for."""
    for sign, purpose in needed.items():
        if sign not in answers.signs:
            raise refusal(target, product, f"it has no {sign}, which {purpose}")


def refusal(target: str, product: str, why: str) -> SlobError:
    """Return the error that says in one line why nothing is measured on a product."""
    return SlobError(f"{target} ({product}) can't be measured: {why}", _OFFER)
