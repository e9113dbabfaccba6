"""Tests of tables in the width of a screen: nothing is lost, and nothing is wider than it must be."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from openslob.report.format import NO_BREAK, fold_table

HEAD = ("run", "reads/s", "visits/s", "per DB CPU", "p99", "fails")
ROWS = [
    ("20261122T041135Z-first", "10,300", "1,030,000", "54,300", "1.20 ms", ""),
    ("20261122T041136Z-second", "9,870", "987,000", "52,100", "13.4 ms", "quiet host, steady throughput, same reads"),
]
TEXTS = (0, 5)
LONG_NAME = "a-very-long-name-of-a-report-in-a-folder.html"


def rows_of(count: int, columns: int, length: int, texts: set[int]) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells that occur only once; a text has words of 5 letters, a figure is one word."""

    def cell(row: int, column: int) -> str:
        words = length // 6 + 1 if column in texts else 1
        return " ".join(f"{word:02}{row:02}{column:02}" for word in range(words))

    return [f"h{column:02}" for column in range(columns)], [
        [cell(row, column) for column in range(columns)] for row in range(count)
    ]


@given(
    width=st.integers(30, 300),  # words of texts are broken on narrower screens
    count=st.integers(0, 4),
    columns=st.integers(1, 14),
    length=st.integers(0, 90),
    keys=st.integers(1, 3),
    texts=st.sets(st.integers(0, 13)),
)
def test_no_cell_is_lost_in_any_width(width, count, columns, length, keys, texts):
    head, rows = rows_of(count, columns, length, texts)
    lines = fold_table(head, rows, width, min(keys, columns), texts)
    shown = set(" ".join(lines).split())
    assert {word for cell in chain(head, *rows) for word in cell.split()} <= shown


@given(width=st.integers(1, 300), columns=st.integers(1, 14), length=st.integers(1, 60))
def test_a_figure_is_whole_in_any_width(width, columns, length):
    rows = [[f"{row}{column:02}".rjust(length, "7") for column in range(columns)] for row in range(3)]
    lines = fold_table([f"h{column}" for column in range(columns)], rows, width, texts=())
    words = " ".join(lines).split()
    assert all(cell in words for row in rows for cell in row)


@given(width=st.integers(40, 300), count=st.integers(1, 4), columns=st.integers(1, 14), length=st.integers(0, 90))
def test_no_line_is_wider_than_the_screen(width, count, columns, length):
    head, rows = rows_of(count, columns, length, texts={0, columns - 1})
    lines = fold_table(head, rows, width, texts={0, columns - 1})
    assert max(map(len, lines)) <= width


def test_without_a_width_each_row_is_one_line():
    assert len(fold_table(HEAD, ROWS, None, texts=TEXTS)) == len(ROWS) + 1


def test_a_table_that_fits_is_not_folded():
    wide = fold_table(HEAD, ROWS, None, texts=TEXTS)
    assert fold_table(HEAD, ROWS, max(map(len, wide)), texts=TEXTS) == wide


def test_headings_are_wrapped_where_that_saves_a_block():
    assert fold_table(HEAD[:5], [row[:5] for row in ROWS], 65) == [
        "                                               per DB",
        "  run                      reads/s   visits/s     CPU      p99",
        "  20261122T041135Z-first    10,300  1,030,000  54,300  1.20 ms",
        "  20261122T041136Z-second    9,870    987,000  52,100  13.4 ms",
    ]


def test_a_text_at_the_end_is_wrapped_in_its_column():
    assert fold_table(HEAD, ROWS, 92, texts=TEXTS)[1:] == [
        "  20261122T041135Z-first    10,300  1,030,000      54,300  1.20 ms",
        "  20261122T041136Z-second    9,870    987,000      52,100  13.4 ms  quiet host, steady",
        "                                                                    throughput, same reads",
    ]


def test_words_of_a_heading_can_be_kept_together():
    lines = fold_table(("sessions", f"±{NO_BREAK}95{NO_BREAK}%"), [("1", "2")], 14)
    assert "± 95 %" in "\n".join(lines)


def test_each_block_begins_with_the_keys():
    lines = fold_table(HEAD, ROWS, 50, texts=TEXTS)
    assert [line.split()[0] for line in lines if line.startswith("  20261122T041135Z")] == [ROWS[0][0]] * 3
    assert lines.count("") == 2


def test_a_long_key_is_wrapped_so_that_a_figure_has_room_beside_it():
    lines = fold_table(("report", "reads/s"), [(LONG_NAME, "10,300")], 40)
    assert max(map(len, lines)) <= 40
    assert lines[1].endswith("10,300")
    assert "".join(line.replace("10,300", "").strip() for line in lines[1:]) == LONG_NAME
