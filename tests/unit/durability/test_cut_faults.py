"""Faults of the storage that can be cut off: which requests meet them, what they lose, and when they are over."""

import errno
import os
import stat
import time
from random import Random

import pytest

from openslob.durability.cut import FAULTS, Fault
from openslob.durability.cut.contents import PAGE_BYTES, SECTOR_BYTES
from openslob.durability.cut.layer import VolatileLayer

FILE = stat.S_IFREG | 0o600
OLD, NEW = b"o" * 4 * PAGE_BYTES, b"n" * 4 * PAGE_BYTES
LONG_S = 10_000


@pytest.fixture
def layer(tmp_path):
    for name in ("table", "log"):
        (tmp_path / name).write_bytes(OLD)
    return VolatileLayer(tmp_path)


def begin(layer, fault, seconds=LONG_S, on=("table",), listed=True, seed="1"):
    layer.begin_fault(fault, seconds, on, listed, seed)
    return layer.fault


def requests(layer, name):
    node = layer.find(name)
    return {
        "read": lambda: layer.read(node, 0, 1),
        "write": lambda: layer.write(node, b"x", 0),
        "growth": lambda: layer.resize(node, node.size + 1),
        "sync": lambda: layer.sync(node),
        "cut off": lambda: layer.resize(node, 1),
    }


def fails(request):
    try:
        request()
    except OSError as error:
        return error.errno
    return 0


@pytest.mark.parametrize("fault", [fault for fault, kind in FAULTS.items() if kind.error and not kind.once])
def test_only_requests_of_the_fault_fail_and_only_for_its_files(layer, fault):
    kind = FAULTS[fault]
    active = begin(layer, fault)
    for name in ("table", "log"):
        for what, request in requests(layer, name).items():
            expected = kind.error if name == "table" and what in kind.requests else 0
            assert fails(request) == expected, (name, what)
    assert active.met == len(kind.requests)
    assert active.first.endswith(" of table")


def test_a_fault_is_on_all_files_but_those_that_are_listed_or_on_every_one(layer):
    begin(layer, Fault.EIO_WRITE, listed=False)
    assert [fails(requests(layer, name)["write"]) for name in ("table", "log")] == [0, errno.EIO]
    begin(layer, Fault.EIO_WRITE, on=(), listed=False)
    assert [fails(requests(layer, name)["write"]) for name in ("table", "log")] == [errno.EIO] * 2
    begin(layer, Fault.EIO_WRITE, on=("table", "removed"))
    assert [fails(requests(layer, name)["write"]) for name in ("table", "log")] == [errno.EIO, 0]


def test_a_fault_that_is_over_meets_nothing(layer):
    active = begin(layer, Fault.UNPLUGGED, seconds=0)
    assert not any(fails(request) for request in requests(layer, "table").values())
    assert (active.met, active.first) == (0, "")


def test_a_sync_fails_once_and_what_it_should_have_kept_is_lost_for_ever(layer, tmp_path):
    table, log = layer.find("table"), layer.find("log")
    layer.write(table, NEW, 0)
    layer.write(log, NEW, 0)
    active = begin(layer, Fault.FSYNC_ONCE)
    layer.sync(log)
    with pytest.raises(OSError, match="Input/output error"):
        layer.sync(table)
    assert (active.met, active.first) == (1, "sync of table")
    layer.write(table, NEW[:PAGE_BYTES], PAGE_BYTES)
    layer.sync(table)
    layer.sync_all()
    kept = (tmp_path / "table").read_bytes()
    assert kept == OLD[:PAGE_BYTES] + NEW[:PAGE_BYTES] + OLD[: 2 * PAGE_BYTES]
    assert (tmp_path / "log").read_bytes() == NEW
    assert layer.statistics.dropped_bytes == len(NEW)


def test_what_a_file_grew_by_before_a_sync_that_failed_is_zero_and_the_file_goes_on(layer, tmp_path):
    node = layer.make("new", FILE, os.geteuid(), os.getegid())
    layer.write(node, NEW, 0)
    begin(layer, Fault.FSYNC_ONCE, on=("new",))
    assert fails(lambda: layer.sync(node)) == errno.EIO
    layer.write(node, b"end", len(NEW))
    layer.sync(node)
    assert (tmp_path / "new").read_bytes() == bytes(len(NEW)) + b"end"
    assert layer.read(node, 0, 2 * len(NEW)) == bytes(len(NEW)) + b"end"


def test_a_sync_that_has_nothing_to_keep_does_not_fail(layer):
    active = begin(layer, Fault.FSYNC_ONCE)
    layer.sync(layer.find("table"))
    assert active.met == 0


def test_which_sync_fails_is_drawn_in_proportion_to_what_it_has_to_keep(layer):
    failed = []
    for seed in range(300):
        layer.write(layer.find("table"), NEW[: 3 * PAGE_BYTES], 0)
        layer.write(layer.find("log"), NEW[:PAGE_BYTES], 0)
        begin(layer, Fault.FSYNC_ONCE, on=("table", "log"), seed=str(seed))
        failed += [name for name in ("table", "log") if fails(requests(layer, name)["sync"])]
    assert len(failed) == 300
    assert 0.65 < failed.count("table") / 300 < 0.85


def test_a_stall_holds_a_request_until_it_is_over_and_loses_nothing(layer, tmp_path):
    until = time.monotonic() + 0.2
    active = begin(layer, Fault.STALL, seconds=0.2)
    layer.write(layer.find("log"), NEW, 0)
    assert active.met == 0
    layer.write(layer.find("table"), NEW, 0)
    assert time.monotonic() >= until
    layer.sync_all()
    assert (tmp_path / "table").read_bytes() == NEW
    assert active.met == 1


def test_one_place_is_torn_whenever_it_is_written_and_no_other(layer, tmp_path):
    table = layer.find("table")
    active = begin(layer, Fault.TORN_WRITE)
    layer.write(layer.find("log"), NEW, 0)
    assert active.met == 0
    block = 2 * PAGE_BYTES
    layer.write(table, OLD[:block], 0)  # nothing to tear: it is as it was
    assert active.met == 0
    before = OLD[:block]
    for times in (1, 2):
        data = Random(times).randbytes(block)
        layer.write(table, data, block)
        layer.write(table, data, 0)
        layer.sync(table)
        whole, torn = (tmp_path / "table").read_bytes()[:block], (tmp_path / "table").read_bytes()[block:]
        assert (active.met, whole) == (times, data)
        assert torn not in (before, data)
        assert (torn[:SECTOR_BYTES], torn[-SECTOR_BYTES:]) == (data[:SECTOR_BYTES], before[-SECTOR_BYTES:])
        before = torn
    assert active.first == "write of table"
