"""The energy of the processors' packages, from made-up files of /sys: wrap-arounds, gaps, and why it is unknown."""

from __future__ import annotations

import pytest

from openslob.host.counters import MOST_WATTS, NO_RAPL, EnergyReader

RANGE_UJ = 262_143_328_850
SECOND = 1_000_000_000


def zone(powercap, name, called, energy_uj, range_uj=RANGE_UJ):
    """Make a zone as Linux shows it; return the file with its counter."""
    folder = powercap / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{called}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder / "energy_uj"


@pytest.fixture
def two_packages(tmp_path):
    """Two packages, and what must not be counted with them."""
    files = [zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000), zone(tmp_path, "intel-rapl:1", "package-1", 0)]
    for name, called in (
        ("intel-rapl:0:0", "core"), ("intel-rapl:2", "psys"), ("intel-rapl-mmio:0", "package-0"), ("dtpm", "dtpm"),
    ):  # fmt: skip
        zone(tmp_path, name, called, 777_000_000)
    return tmp_path, *files


def joules(sample):
    return sample.values["package_energy_j"]


def test_the_energy_is_that_of_all_packages_and_of_nothing_else(two_packages):
    powercap, first, second = two_packages
    reader = EnergyReader(powercap)
    before = reader.read(SECOND)
    first.write_text("8000000\n")
    second.write_text("1500000\n")
    for part in powercap.glob("*[!01]/energy_uj"):
        part.write_text("999000000\n")
    after = reader.read(2 * SECOND)
    reader.close()
    assert joules(after) - joules(before) == pytest.approx(4.5)
    assert before.epoch == after.epoch


def test_a_counter_that_wraps_around_goes_on_from_0(two_packages):
    powercap, first, _ = two_packages
    reader = EnergyReader(powercap)
    first.write_text(f"{RANGE_UJ - 1_000_000}\n")
    before = reader.read(SECOND)
    first.write_text("1999999\n")
    after = reader.read(2 * SECOND)
    again = reader.read(3 * SECOND)
    reader.close()
    assert joules(after) - joules(before) == pytest.approx(3, rel=0, abs=1e-7)
    assert joules(again) == joules(after)
    assert before.epoch == after.epoch == again.epoch


def test_there_is_no_difference_over_a_time_in_which_a_counter_may_have_wrapped_around_unseen(two_packages):
    reader = EnergyReader(two_packages[0])
    longest_ns = int(1e3 * RANGE_UJ / MOST_WATTS)
    first = reader.read(SECOND)
    in_time = reader.read(SECOND + longest_ns)
    late = reader.read(SECOND + 2 * longest_ns + SECOND)
    reader.close()
    assert first.epoch == in_time.epoch != late.epoch


def test_a_host_without_such_counters_says_so(tmp_path):
    zone(tmp_path, "intel-rapl:0:0", "core", 5)
    for powercap in (tmp_path, tmp_path / "none"):
        reader = EnergyReader(powercap)
        assert reader.read().unknown == {"package_energy_j": NO_RAPL}
        reader.close()


def test_a_refused_file_is_said_to_be_root_s(two_packages, monkeypatch):
    def refused(_path):
        raise PermissionError

    monkeypatch.setattr("openslob.host.counters.KeptFile", refused)
    assert "only root may" in EnergyReader(two_packages[0]).read().unknown["package_energy_j"]


def test_a_counter_that_is_no_number_is_unknown_from_then_on(two_packages):
    powercap, first, _ = two_packages
    reader = EnergyReader(powercap)
    assert reader.read(SECOND).values
    first.write_text("\n")
    assert "can no longer be read" in reader.read(2 * SECOND).unknown["package_energy_j"]
    first.write_text("6000000\n")
    assert reader.read(3 * SECOND).unknown
    (powercap / "intel-rapl:1" / "max_energy_range_uj").write_text("none")
    assert "has no energy counter" in EnergyReader(powercap).read().unknown["package_energy_j"]
