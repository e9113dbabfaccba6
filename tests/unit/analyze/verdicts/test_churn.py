"""What the verdicts say of rows that come and go: exact counts, and whether what they leave behind is removed."""

from factories import measurements as made
from factories.tables import table
from openslob.analyze.verdicts import judge
from openslob.core.units import MIB
from openslob.record.model import Holds

HOLDS, FAILS, UNKNOWN = Holds.HOLDS, Holds.FAILS, Holds.UNKNOWN
READ = float(made.ROWS_READ)
ROWS = made.SESSIONS * made.UPDATES_PER_SESSION


def counted(**overrides):
    plain = {"rows_read": READ + ROWS, "rows_updated": None, "rows_updated_in_place": None,
             "rows_inserted_or_deleted": 2.0 * ROWS, "table_bytes": 30.0 * MIB, "index_bytes": 0.5 * MIB}  # fmt: skip
    return made.engine(**{**plain, **overrides})


def verdict(name, engine=None, workload=None, **session):
    """The verdict on a run whose updates each deleted a row and inserted one."""
    each = made.UPDATES_PER_SESSION
    done = {"rows_updated": 0, "rows_inserted": each, "rows_deleted": each, "bytes_inserted": 2440 * each, **session}
    run = made.measurement(
        workload=workload or made.workload(mode="churn"),
        sessions=[made.session(number, **done) for number in range(made.SESSIONS)],
        engine=engine or counted(),
        blocks_after=2 * 131_072,
    )
    return next((found for found in judge(run) if found.name == name), None)


@table(
    ("left", "outcome", "text"),
    [
        ({"dead_rows": 12_000.0, "vacuums": 0.0}, FAILS, "dead rows rose by 12,000, and no vacuum ended: 0 % of what"),
        ({"dead_rows": 6001.0, "vacuums": 1.0}, FAILS, "and 1 vacuum ended"),
        ({"dead_rows": 6000.0, "vacuums": 4.0}, HOLDS, "rose by 6,000, and 4 vacuums ended: 50 % of what"),
        ({"dead_rows": -500.0, "vacuums": 4.0}, HOLDS, "dead rows fell by 500, and 4 vacuums ended: 100 %"),
        ({"purge_lag": 11_900.0}, FAILS, "the purge lag rose by 11,900: 1 % of what they left behind was removed"),
        ({"purge_lag": 40.0}, HOLDS, "the purge lag rose by 40: 100 %"),
        ({"unknown": {"dead_rows": "track_counts is off", "purge_lag": "no"}}, UNKNOWN, "track_counts is off; no"),
    ],
)
def test_what_deleted_rows_left_behind_was_removed_or_not(left, outcome, text):
    found = verdict("cleanup_keeps_up", counted(**left))
    assert found.verdict is outcome
    assert text in found.why
    if outcome is not UNKNOWN:
        assert found.why.startswith("12,000 rows were deleted; ")
        assert found.why.endswith(" The tables grew by 30.0 MB a minute. The indexes grew by 0.5 MB a minute.")


def test_only_a_run_whose_rows_come_and_go_is_judged_by_what_they_leave_behind():
    assert verdict("cleanup_keeps_up", workload=made.workload()) is None
    assert verdict("cleanup_keeps_up", rows_inserted=0, rows_deleted=0).verdict is UNKNOWN


@table(
    ("name", "outcome", "change", "text"),
    [
        ("counts_agree", HOLDS, {}, "876,000 rows read and 24,000 inserted or deleted, the work loop"),
        ("counts_agree", FAILS, {"engine": counted(rows_inserted_or_deleted=23_999.0)}, "23,999 inserted or deleted"),
        ("counts_agree", FAILS, {"engine": counted(rows_read=READ)}, ""),
        ("counts_agree", UNKNOWN, {"engine": counted(rows_inserted_or_deleted=None)}, ""),
        ("exact_mix", HOLDS, {}, "12,000 of 120,000 operations"),
        ("mode", HOLDS, {}, "It was churn: 12,000 operations deleted 12,000 rows and inserted 12,000 rows."),
        ("mode", FAILS, {"rows_deleted": 1499}, "It was not churn: 12,000 operations deleted 11,992 rows"),
        ("data_in_place", HOLDS, {}, "Each of 888,000 rows was where it should be."),
        ("data_in_place", FAILS, {"rows_deleted": 1499}, "the keys are not as loaded"),
    ],
)
def test_rows_that_come_and_go_are_counted_exactly_and_may_take_more_room(name, outcome, change, text):
    found = verdict(name, **change)
    assert found.verdict is outcome, found.why
    assert text in found.why
