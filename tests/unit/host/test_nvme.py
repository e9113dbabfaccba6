"""The log page of an EBS volume, made up byte by byte, and who can't be asked for one."""

from __future__ import annotations

import struct

import pytest

from factories.tables import table
from openslob.core.host import FigureUnknownError
from openslob.host.limits import INSTANCE, VOLUME, EbsVolume, command, parse_page

PAGE = struct.pack("<IIQQQQQQQQQQQ", 0x3C23B510, 0, 11, 12, 13, 14, 15, 16, 2_500_000, 750_000, 40_000, 1, 8)
EBS = "Amazon Elastic Block Store              "


def disk(tmp_path, model: str):
    folder = tmp_path / "nvme0n1/nvme0n1p1"
    folder.mkdir(parents=True)
    (folder / "partition").write_text("1\n")
    (folder.parent / "device").mkdir()
    (folder.parent / "device/model").write_text(model)
    return folder


def test_the_page_has_the_seconds_for_which_more_was_asked_than_allowed():
    found = parse_page(PAGE.ljust(4096, b"\0"), "nvme0n1")
    assert dict(found[VOLUME].values) == {"iops_exceeded_s": 2.5, "bytes_exceeded_s": 0.75}
    assert dict(found[INSTANCE].values) == {"iops_exceeded_s": 0.04, "bytes_exceeded_s": 1e-6}
    assert found[VOLUME].epoch == "EBS volume nvme0n1"


def test_another_magic_number_is_another_form():
    found = parse_page(b"\1" + PAGE[1:].ljust(4095, b"\0"), "nvme0n1")
    assert (found[VOLUME].values, found[INSTANCE].values) == ({}, {})
    assert "form that is known of EBS" in found[VOLUME].unknown["iops_exceeded_s"]


def test_the_command_asks_for_the_vendor_s_page_in_whole_words():
    sent = command(0x1122334455667788, 4096)
    assert len(sent) == 72  # the size that the kernel's request number has in it
    assert sent[0] == 0x02
    assert struct.unpack_from("<I", sent, 4) == (1,)  # the name space
    assert struct.unpack_from("<Q", sent, 24) == (0x1122334455667788,)
    assert struct.unpack_from("<II", sent, 36) == (4096, 1023 << 16 | 0xD0)


@table(("model", "says"), [("Samsung SSD 990", "is not an EBS volume"), (EBS, "can't be asked: No such file")])
def test_who_can_not_be_asked(tmp_path_factory, model, says):
    tmp_path = tmp_path_factory.mktemp("sys")
    with pytest.raises(FigureUnknownError, match=says):
        EbsVolume(disk(tmp_path, model), dev=tmp_path / "dev")


def test_a_device_that_refuses_is_unknown(tmp_path):
    folder = disk(tmp_path, EBS)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvme0n1").write_bytes(b"")  # a file knows no such request
    volume = EbsVolume(folder, dev=tmp_path / "dev")
    found = volume.read()
    assert "can't be asked: " in found[VOLUME].unknown["bytes_exceeded_s"]
    volume.close()
    volume.close()
