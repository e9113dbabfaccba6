"""What a lab compares: values that the server takes, under the loads where they can matter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.labs import METHOD, PAGES_OFF, SUMS_OFF, lab_record
from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed.base import ServerSpec
from openslob.engines.settings import Effect, ServerSetting
from openslob.kinds.lab.loads import ANY, NAMES, LoadSize, lab_load, require_known
from openslob.kinds.lab.plan import (
    NOTHING,
    Question,
    arms_of,
    missing_ready,
    needed_s,
    questions,
    ready_names,
    require_time,
    round_s,
    with_nothing_changed,
)
from openslob.kinds.lab.record import LabArm
from openslob.kinds.lab.servers import LabServers, template

ENGINE = registry.default_engine()
SPEC = registry.default_spec("lab", ENGINE)
SETTINGS = {
    "io_method": ServerSetting("io_method", Effect.RESTART, ("sync", "worker", "io_uring"), "worker"),
    "full_page_writes": ServerSetting("full_page_writes", Effect.RESTART, ("on", "off"), "on"),
    "data_checksums": ServerSetting("data_checksums", Effect.NEW_SERVER, ("on", "off"), "on"),
    "work_mem": ServerSetting("work_mem", Effect.SESSION, (), "4MB"),
}


class Known:
    """The settings of a server whose programs were built without io_uring."""

    def find(self, name):
        if name not in SETTINGS:
            raise UsageError(f"there is no setting {name}")
        return SETTINGS[name]

    def require(self, setting, value):
        if value == "io_uring":
            raise UsageError(f"the server refuses {setting.name}={value}")


def arms(*asked):
    return arms_of(asked, SPEC, Known())


def test_every_ready_setting_names_loads_that_exist():
    for engine in registry.managed_engines():
        ready = registry.ready_settings(engine)
        assert len({each.setting for each in ready}) == len(ready)
        for each in ready:
            require_known((*each.loads, *each.controls))
            assert not set(each.loads) & set(each.controls)
    wanted = [
        "io-method",
        "checksums",
        "full-page-writes",
        "huge-pages",
        "wal-compression",
        "sync-method",
        "block-size",
    ]
    assert set(wanted) <= set(ready_names())


def test_without_a_setting_all_ready_ones_are_compared():
    for engine in registry.managed_engines():
        ready = {each.setting for each in registry.ready_settings(engine) if not each.on_request}
        assert {each.setting for each in questions(engine, (), (), ())} == ready
    (asked,) = questions("mariadb", (), ("table-engine",), ())
    assert asked.setting == "table_engine"
    assert {each.setting for each in questions(ENGINE, ("work_mem=1MB",), (), ())} == {"work_mem"}
    both = questions(ENGINE, ("work_mem=1MB,2MB", "full_page_writes"), ("io-method", "full-page-writes"), ())
    assert [(each.setting, each.values, each.exact) for each in both] == [
        ("io_method", ("sync", "worker", "io_uring"), False), ("full_page_writes", (), False),
        ("work_mem", ("1MB", "2MB"), True),
    ]  # fmt: skip
    assert both[1].loads == ("commit", "update")
    assert both[2].loads == ANY


def test_loads_can_be_given_and_controls_stay_controls():
    (asked,) = questions(ENGINE, ("io_method",), (), ("physical", "commit"))
    assert (asked.loads, asked.controls) == (("commit",), ("physical",))
    with pytest.raises(UsageError, match="no load 'reads'"):
        require_known(("reads",))


def test_what_is_not_ready_is_refused_and_what_this_database_lacks_is_told():
    with pytest.raises(UsageError, match="no ready setting 'io'"):
        questions(ENGINE, (), ("io",), ())
    for engine in registry.managed_engines():
        own = {each.name for each in registry.ready_settings(engine)}
        left = {each.what for each in missing_ready(engine, tuple(ready_names()))}
        assert left == set(ready_names()) - own


def test_arms_are_the_values_that_the_server_does_not_have_yet():
    found = arms(Question("io_method", named=False, loads=("scan",), controls=("physical",)))
    (arm,) = found.arms
    assert (arm.label, arm.base_label, arm.effect) == ("io_method=sync", "io_method=worker", "restart")
    assert arm.every_load == ("scan", "physical")
    assert arm.settings == {"io_method": "sync"}
    assert [each.what for each in found.left_out] == ["io_method=io_uring"]


def test_what_the_user_named_is_an_error_and_what_is_ready_is_left_out():
    assert arms(Question("no_such", named=False)).left_out[0].what == "no_such"
    for asked, problem in [
        (Question("no_such"), "no setting no_such"),
        (Question("work_mem"), "no list of values"),
        (Question("full_page_writes", ("on",), exact=True), "has full_page_writes=on already"),
        (Question("io_method", ("io_uring",), exact=True), "refuses io_method=io_uring"),
        (Question("block_size", why_not="built for one size"), "built for one size"),
        (Question("cache"), "no list of values"),
        (Question("cache", ("big",), exact=True), "cache=big"),
    ]:
        with pytest.raises(UsageError, match=problem):
            arms(asked)


def test_parameters_of_managed_servers_are_compared_too():
    asked = [Question("cache", ("256M",)), Question("block-size", ("16K",)), Question("huge_pages", ("on",))]
    found = arms(*(replace(each, exact=True) for each in asked)).arms
    assert [(each.label, each.here, each.effect, dict(each.server)) for each in found] == [
        ("cache=256M", "128 MB", "restart", {"cache_bytes": 256 * MIB}),
        ("block_size=16K", "the default", "new server", {"block_size": 16384}),
        ("huge_pages=on", "off", "restart", {"huge_pages": True}),
    ]


def test_the_same_server_twice_must_show_nothing():
    (last,) = with_nothing_changed([SUMS_OFF])[1:]
    assert (last.setting, last.loads, last.controls, last.effect) == (NOTHING, (), ("physical",), "new server")
    (restarted,) = with_nothing_changed([SUMS_OFF.model_copy(update={"effect": "restart"})])[1:]
    assert restarted.effect == "restart"
    assert with_nothing_changed([]) == []


def test_sides_that_need_a_new_server_have_one_each_and_the_others_share_one():
    found = arms(Question("full_page_writes"), Question("io_method", ("sync",)), Question("data_checksums")).arms
    every = with_nothing_changed(found)
    servers = LabServers(SPEC, every)
    assert servers.names == ["lab-reads", "lab", "lab-2-0", "lab-2-1", "lab-3-0", "lab-3-1"]
    off = servers.spec("data_checksums", every[2], ("update",))
    assert (off.name, off.settings, off.made_settings) == ("lab-2-1", "", "data_checksums=off")
    assert servers.spec("data_checksums", None, ("physical",)).settings == ""
    method = [servers.spec("io_method", every[1], (load,)) for load in ("physical", "commit")]
    assert [(each.name, each.settings) for each in method] == [
        ("lab-reads", "io_method=sync"),
        ("lab", "io_method=sync"),
    ]


def test_servers_are_made_like_the_target_and_marked_as_the_labs():
    spec = template(registry.name_embedded(ENGINE), 64 * MIB)
    assert (spec.cache_bytes, spec.made_for, spec.name) == (64 * MIB, "lab", "lab")
    assert ServerSpec.from_record(spec.to_record()) == spec
    with pytest.raises(UsageError, match="makes its own"):
        template("some://server/db", 64 * MIB)


def test_all_loads_use_the_same_data_and_leave_commits_to_the_server():
    size = LoadSize(64 * MIB, 8, 4.0, 1.0)
    loads = [lab_load(name, size).workload for name in NAMES]
    assert len({tuple(load[name] for name in ("schemas", "scale", "scan_table_sz")) for load in loads}) == 1
    assert {load["commit_mode"] for load in loads} == {"engine"}
    assert {load["sessions"] for load in loads} == {4, 8}


def test_a_label_of_a_value_is_that_of_the_setting():
    arm = LabArm(setting=NOTHING, value="", here="", effect="restart")
    assert (arm.label, arm.base_label) == (NOTHING, f"{NOTHING}, first")


def with_time(limit_s):
    """A lab of three settings that begins, with so much time."""
    arms_ = with_nothing_changed([PAGES_OFF, METHOD, SUMS_OFF])
    return lab_record(*((arm, 1.0) for arm in arms_), rounds=0).model_copy(update={"limit_s": limit_s})


def test_a_lab_whose_time_is_too_short_is_refused_with_what_would_fit():
    wanted_s = needed_s(with_time(1.0), 6)
    assert wanted_s > 6 * round_s(with_time(1.0))
    require_time(with_time(wanted_s), 6)
    with pytest.raises(UsageError) as refused:
        require_time(with_time(wanted_s - 1), 6)
    enough = f"--for {-(-wanted_s // 60):g}m"
    assert enough in refused.value.remedy
    assert "6 pairs of each of 3 settings take about" in refused.value.what
    assert f"slob lab full_page_writes io_method --for {wanted_s - 1:g}s" in refused.value.remedy
    # What is proposed is taken, and so is a look.
    alone = with_nothing_changed([PAGES_OFF, METHOD])
    require_time(with_time(wanted_s - 1).model_copy(update={"arms": tuple(alone)}), 6)
    require_time(with_time(wanted_s - 1), 1)
    with pytest.raises(UsageError) as refused:
        require_time(with_time(10.0), 6)
    assert "fewer settings" not in refused.value.remedy
