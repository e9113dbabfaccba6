"""Numbers of records: given once, never again, and never taken for anything else."""

from __future__ import annotations

import json
import shutil
import threading

import pytest

from factories.records import physical
from openslob.core.errors import SlobError, UsageError
from openslob.record import finding, labels, numbers
from openslob.record.store import RunFolder


def save(results, name="run", second=0):
    identity = {"id": f"20260301-1200{second:02}-{name}", "name": name, "started_at": f"2026-03-01T12:00:{second:02}Z"}
    record = physical().model_copy(update=identity)
    with RunFolder.begin(results, record) as folder:
        folder.finish(record)
    return folder.path


def number_all(results):
    return numbers.give(results, sorted(path.name for path in results.iterdir() if path.is_dir()))


def test_a_number_stays_with_its_record_and_is_never_given_again(tmp_path):
    first, second = save(tmp_path, second=1), save(tmp_path, second=2)
    assert number_all(tmp_path) == {first.name: 1, second.name: 2}
    shutil.rmtree(second)
    older = save(tmp_path, second=0)
    assert number_all(tmp_path) == {first.name: 1, older.name: 3}
    assert finding.one("1", tmp_path).path == first
    assert finding.one("#3", tmp_path).path == older
    for gone in ("2", "#2"):
        with pytest.raises(UsageError):
            finding.one(gone, tmp_path)


def test_numbers_that_are_known_are_read_once_for_all_records(tmp_path, monkeypatch):
    for second in range(3):
        save(tmp_path, second=second)
    given, read, reads = number_all(tmp_path), numbers.read_json, []
    monkeypatch.setattr(numbers, "read_json", lambda *what: reads.append(what) or read(*what))
    assert number_all(tmp_path) == given
    assert len(reads) == 1


def test_a_number_that_is_not_given_is_not_the_beginning_of_an_id(tmp_path):
    path = save(tmp_path)
    for word in ("2", "20", "202"):
        with pytest.raises(UsageError, match="no record has this number or name"):
            finding.one(word, tmp_path)
    assert finding.one("2026", tmp_path).path == path
    assert finding.one("20260301", tmp_path).path == path


def test_the_shortest_word_for_a_record_stays_its_own(tmp_path):
    first = save(tmp_path, second=1)
    assert finding.shortest(first) == "1"
    older, named = save(tmp_path, second=0), save(tmp_path, "2", second=2)
    assert [finding.shortest(each) for each in (first, older, named)] == ["1", older.name, "3"]
    for each in (first, older, named):
        assert finding.one(finding.shortest(each), tmp_path).path == each
    (tmp_path / numbers.NUMBERS_FILE).write_text("damaged")
    assert finding.shortest(first) == first.name


def test_a_number_that_is_a_name_too_is_refused(tmp_path, monkeypatch):
    first, named = save(tmp_path, second=1), save(tmp_path, "1", second=2)
    number_all(tmp_path)
    with pytest.raises(UsageError, match=f"1 is both the number of {first.name} and a name of {named.name}"):
        finding.one("1", tmp_path)
    assert finding.one("#1", tmp_path).path == first
    other = save(tmp_path, second=3)
    labels.update(other, name="2")
    with pytest.raises(UsageError, match=f"and a name of {other.name}"):
        finding.several("2", tmp_path)
    number_all(tmp_path)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(first, tmp_path / "3")
    with pytest.raises(UsageError, match="a name of "):
        finding.one("3", tmp_path)


def test_a_record_of_another_kind_is_not_found_by_its_number(tmp_path):
    save(tmp_path)
    number_all(tmp_path)
    sweeps = [kind for kind in finding.every_kind() if kind.labels.name == "sweep"]
    with pytest.raises(UsageError, match="1 is a run, not a sweep"):
        finding.one("1", tmp_path, kinds=sweeps)


def test_two_that_give_numbers_at_once_give_each_once(tmp_path):
    names = [save(tmp_path, second=second).name for second in range(8)]
    threads = [threading.Thread(target=numbers.give, args=(tmp_path, names[: at + 1])) for at in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(numbers.known(tmp_path).values()) == list(range(1, 9))


def test_where_nothing_can_be_written_records_have_no_numbers(tmp_path, monkeypatch):
    path = save(tmp_path)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(numbers, "write_atomically", refuse)
    assert numbers.give(tmp_path, [path.name]) == {}
    assert numbers.give(tmp_path / "nowhere", ["a"]) == {}


def test_a_damaged_file_of_numbers_is_an_error_that_names_it(tmp_path):
    save(tmp_path)
    for text in ("{", json.dumps({"numbers_version": 1, "next": "x"}), json.dumps({"numbers_version": 99})):
        (tmp_path / numbers.NUMBERS_FILE).write_text(text)
        with pytest.raises(SlobError, match=r"\.numbers\.json"):
            finding.one("1", tmp_path)


@pytest.mark.parametrize(
    ("word", "number", "is_nothing_else"),
    [
        ("12", 12, True),
        ("#12", 12, True),
        ("#20260301", 20260301, True),
        ("2026", 2026, False),
        ("20260301", None, False),
        ("12a", None, False),
        ("-1", None, False),
        ("", None, False),
    ],
)
def test_which_words_are_numbers(word, number, is_nothing_else):
    assert (numbers.read_number(word), numbers.is_nothing_else(word)) == (number, is_nothing_else)
    assert finding.is_pointer(word) == (number is not None)
