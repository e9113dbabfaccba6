"""A report on one page, to be passed on: the answer, one picture, four figures, the conditions, and one caveat.

It is drawn once, as an SVG of the size of a sheet of A4: the HTML file contains it, and the PDF is made of it without a
browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import vl_convert
from altair.utils.schemapi import debug_mode
from markupsafe import escape

from openslob._version import __version__
from openslob.analyze.verdict_registry import Severity
from openslob.core.errors import UsageError
from openslob.record.model import Holds
from openslob.report.charts.picture import Picture, svg
from openslob.report.charts.theme import WIDTH as CHART_WIDTH
from openslob.report.checks import Check, gravest_first
from openslob.report.document import Document
from openslob.report.format import without_controls, wrap

# A sheet of A4 in units of 1/96 inch, and its margin.
WIDTH, HEIGHT, MARGIN = 794, 1123, 56
INSIDE = WIDTH - 2 * MARGIN
# A unit of the sheet in points, in which a PDF is measured.
_POINTS = 72 / 96
# A letter is about half as wide as it is high; with this much the widest texts have room.
_LETTER = 0.53
_INK, _QUIET, _RED, _BOX = "#1b1f24", "#57606a", "#b42318", "#f3f4f6"
_TITLE, _ANSWER, _TEXT, _SMALL, _VALUE = 21, 18, 13, 11, 24
_LEADING = 1.38
MOST_FIGURES = 4
# Verdicts that are what was asked: one that fails says nothing against the figures.
_FINDINGS = frozenset({"no_acked_commit_lost", "nothing_damaged"})
# A panel is no higher than this, and its axes and legend take so much beside it.
_HIGHEST, _AXES = 480, 90
_FIRST_TAG = re.compile(r"<svg\b[^>]*>")
_VIEW_BOX = re.compile(r'viewBox="([\d. -]+)"')


@dataclass(frozen=True)
class OnePage:
    """What is on the sheet. ``figures`` are labels and values; ``caveat`` says what may be wrong with them."""

    title: str
    answer: str
    figures: tuple[tuple[str, str], ...]
    picture: Picture | None
    conditions: tuple[str, ...]
    caveat: str
    is_invalid: bool = False


def one_page_of(document: Document) -> OnePage:
    """Return the page of a report. UsageError if it has no figures to be passed on."""
    if not document.key_figures:
        raise UsageError("this report has no figures for one page", "leave --one-page out, for the whole report")
    # Altair would compare each part of a chart with its schema, which takes longer than all else: tests do that.
    with debug_mode(False):
        pictures, _ = document.pictures()
    title, screen = document.title, document.screen
    checks = document.judgement.checks if document.judgement else ()
    gravest = next(iter(gravest_first(checks)), None)
    return OnePage(
        title.heading,
        screen.answer[0] if screen else document.headline,
        tuple(document.key_figures)[:MOST_FIGURES],
        next((_one_panel(picture) for picture in pictures), None),
        (*((screen.subject,) if screen else ()), *title.remarks, title.introduction),
        _caveat(gravest, sum(check.outcome is Holds.HOLDS for check in checks)),
        _is_invalid(gravest),
    )


def _one_panel(picture: Picture) -> Picture:
    """Return the first panel of a picture, without notes: the sheet has its own texts."""
    return replace(picture, panels=picture.panels[:1], notes=())


def _caveat(gravest: Check | None, holding: int) -> str:
    if gravest is None:
        held = f"{holding} checks of how it was measured hold. " if holding else ""
        return f"{held}The figures are those of this load on this machine: another load has others."
    do_not = "Do not use these figures: " if _is_invalid(gravest) and gravest.name not in _FINDINGS else ""
    why = gravest.why if do_not else f"{gravest.why[:1].upper()}{gravest.why[1:]}"
    return f"{do_not}{why} {gravest.remedy}".rstrip()


def _is_invalid(gravest: Check | None) -> bool:
    return gravest is not None and gravest.severity is Severity.INVALID


def render_svg(page: OnePage, scale: float = 1.0) -> str:
    """Return the sheet as SVG, so many times as large as in units of 1/96 inch."""
    parts, y = [], float(MARGIN)
    for drawn, height in _blocks(page, HEIGHT - 2 * MARGIN):
        parts.append(f'<g transform="translate({MARGIN} {y:.1f})">{drawn}</g>')
        y += height
    size = f'width="{WIDTH * scale:g}" height="{HEIGHT * scale:g}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    return f'<svg {spaces} {size} font-family="Helvetica, Arial, sans-serif">{ground}{"".join(parts)}</svg>'


def render_pdf(page: OnePage) -> bytes:
    """Return the sheet as PDF."""
    return vl_convert.svg_to_pdf(render_svg(page, _POINTS))


def render_html(page: OnePage) -> str:
    """Return the sheet as an HTML file that prints as one page and needs no network."""
    style = (
        "@page { size: A4; margin: 0 } html { background: #e5e7eb } body { margin: 0; text-align: center } "
        "svg { width: 100%; height: auto; max-width: 960px } "
        "@media print { html { background: #fff } body > svg { width: 210mm; height: 296mm; max-width: none } }"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="openslob {__version__}">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(page.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{render_svg(page)}\n</body>\n"
        "</html>\n"
    )


def _blocks(page: OnePage, room: float) -> Iterator[tuple[str, float]]:
    """Yield each block of the sheet with its height; the picture gets what the others leave of the ``room``."""
    above = [
        _paragraph(page.title, _TITLE, weight="bold"),
        (f'<path d="M0 0H{INSIDE}" stroke="{_INK}" stroke-width="1.5"/>', 18.0),
        _paragraph(page.answer, _ANSWER),
        _paragraph(
            page.caveat, _TEXT, fill=_RED if page.is_invalid else _QUIET, weight="bold" if page.is_invalid else ""
        ),
        (_figures(page.figures), 92.0),
    ]
    below = [_paragraph(text, _SMALL, fill=_QUIET, after=3) for text in page.conditions]
    yield from above
    left = room - sum(height for _, height in (*above, *below))
    if page.picture:
        yield _picture(page.picture, left)
    yield from below


def _paragraph(text: str, size: int, *, fill: str = _INK, weight: str = "", after: float = 12.0) -> tuple[str, float]:
    """Return wrapped text in lines of the sheet, and the height that it takes."""
    lines = wrap(without_controls(text), columns=int(INSIDE / (size * _LETTER)))
    step = size * _LEADING
    drawn = "".join(_line(line, size, (at + 0.8) * step, fill=fill, weight=weight) for at, line in enumerate(lines))
    return drawn, len(lines) * step + after


def _line(text: str, size: float, y: float, x: float = 0.0, *, fill: str = _INK, weight: str = "") -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}"{bold}>{escape(text)}</text>'


def _figures(figures: Sequence[tuple[str, str]]) -> str:
    """Return the figures beside each other, each in a box, as large as the longest has room."""
    gap = 10.0
    width = (INSIDE - gap * (len(figures) - 1)) / len(figures)
    longest = max(len(value) for _, value in figures)
    size = min(_VALUE, (width - 20) / (longest * 0.58))
    parts = []
    for at, (label, value) in enumerate(figures):
        x = at * (width + gap)
        parts += [
            f'<rect x="{x:.1f}" width="{width:.1f}" height="72" rx="6" fill="{_BOX}"/>',
            _line(value, round(size, 1), 36, x + 10, weight="bold"),
            _line(label, _SMALL, 57, x + 10, fill=_QUIET),
        ]
    return "".join(parts)


def _picture(picture: Picture, room: float) -> tuple[str, float]:
    """Return the picture as large as there is room for it, below its title."""
    heading, used = _paragraph(picture.title, _TEXT, weight="bold", after=8)
    panel = max(min(_HIGHEST, int((room - used) * CHART_WIDTH / INSIDE) - _AXES), _AXES)
    drawn = svg(replace(picture, title="", heights={0: panel}))
    found = _VIEW_BOX.search(drawn)
    width, height = map(float, found[1].split()[2:]) if found else (float(INSIDE), room)
    scale = min(INSIDE / width, max(room - used - 16, 1) / height)
    tag = (
        f'<svg x="0" y="{used:.1f}" width="{width * scale:.1f}" height="{height * scale:.1f}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return heading + _FIRST_TAG.sub(lambda _: tag, drawn, count=1), room
