"""Every engine's work loop against the reference: what it does, in which order, on which keys, and what it counts.

All of it holds for the loop that the server runs and for the one that the client runs.
"""

import statistics
import zlib
from bisect import bisect
from collections import Counter
from itertools import pairwise

import pytest

from factories import effort
from factories.running import eventually
from factories.subjects import COLUMNS, SCALE, SCAN_ROWS, lz_size
from openslob.core.histogram import BUCKETS, bucket_of, lower_edge_us
from openslob.core.method import OpKind, is_due, kind_of

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("loop")]

# Percentages of updates, and of scans among the rest.
MIXES = ((0, 0), (0, 30), (1, 30), (10, 0), (33, 30), (50, 0), (67, 30), (99, 0), (100, 30))
SMALL_SLICES = (1, 7, 30, 62, 100, 50)
# The server's own work (statistics readers, cleaning) commits now and then too.
OTHERS_COMMITS = 30


def kinds_of(result):
    return {kind: histogram.count for kind, histogram in result.latency.items() if histogram.count}


def reference(plan, first, count):
    load = plan.workload
    return [kind_of(op, load.update_pct, load.scan_pct, plan.phases) for op in range(first, first + count)]


@pytest.mark.parametrize(("update_pct", "scan_pct"), MIXES)
def test_every_slice_has_the_operations_of_the_reference(subject, update_pct, scan_pct):
    workload = subject.workload(update_pct=update_pct, scan_pct=scan_pct)
    for number, first in ((0, 0), (1, 10**11 + 37)):
        plan = subject.plan(workload, number)
        with subject.session(workload, number) as worked:
            worked.done = first
            for size in SMALL_SLICES:
                begun = worked.done
                result = worked.run(max_ops=size)
                assert result.counts.ops == size
                assert kinds_of(result) == Counter(reference(plan, begun, size))
        updates = sum(kinds_of(result).get(OpKind.UPDATE, 0) for result in worked.results)
        assert abs(updates - sum(SMALL_SLICES) * update_pct / 100) < 1


@pytest.mark.parametrize(("work_unit", "update_work_unit"), [(1, None), (3, 5), (64, None), (SCALE, 1)])
def test_rows_are_operations_times_work_unit_by_the_server_s_own_counters(subject, work_unit, update_work_unit):
    workload = subject.workload(
        update_pct=40, scan_pct=20, work_unit=work_unit, update_work_unit=update_work_unit, sessions=2
    )
    with subject.session(workload) as worked:
        delta = subject.counted(lambda: worked.slices(30, 20, 50))
    kinds = Counter()
    for result in worked.results:
        done = kinds_of(result)
        assert result.counts.rows_read == done.get(OpKind.SELECT, 0) * work_unit
        assert result.counts.rows_updated == done.get(OpKind.UPDATE, 0) * (update_work_unit or work_unit)
        assert result.counts.rows_scanned == done.get(OpKind.SCAN, 0) * SCAN_ROWS
        kinds.update(done)
    assert kinds[OpKind.UPDATE] == 40
    updated = 40 * (update_work_unit or work_unit)
    assert delta.rows_updated == updated
    assert delta.rows_read == kinds[OpKind.SELECT] * work_unit + updated
    assert delta.logical_reads >= delta.rows_read


def test_the_counters_of_a_finished_slice_are_there_at_once(subject):
    """They don't move during a call: this is why there are slices."""
    workload = subject.workload(update_pct=50, work_unit=2)
    counters = subject.open_counters()
    with subject.session(workload) as worked:
        before = counters.read()
        for size in (10, 40, 1, 7):
            result = worked.run(max_ops=size)
            after = counters.read()
            delta = counters.difference(before, after)
            assert (delta.rows_read, delta.rows_updated) == (
                result.counts.rows_read + result.counts.rows_updated,
                result.counts.rows_updated,
            )
            before = after
    counters.close()


@pytest.mark.parametrize("update_pct", [0, 50])
def test_cached_blocks_are_logical_reads_only(subject, update_pct):
    workload = subject.workload(update_pct=update_pct, work_unit=SCALE // 2)
    with subject.session(workload) as worked:
        worked.slices(20)  # every block is in the cache now
        delta = subject.counted(lambda: worked.slices(20))
    assert delta.rows_read == 20 * SCALE // 2
    assert delta.read_requests <= subject.stray_reads
    if "table" in subject.objects:
        assert delta.by_object["table"].hits >= delta.rows_read


# --- latency


def test_buckets_are_those_of_the_histogram(subject):
    values = sorted({*range(3000), *map(lower_edge_us, range(BUCKETS)), *(10**power for power in range(10))})
    values += [value - 1 for value in values if value > 3000]
    assert subject.buckets(values) == [bucket_of(value) for value in values]


def test_latencies_are_counted_summed_and_bounded(subject):
    workload = subject.workload(update_pct=30, scan_pct=30)
    with subject.session(workload) as worked:
        result = worked.run(max_ops=300)
    assert sum(kinds_of(result).values()) == result.counts.ops == 300
    for histogram in result.latency.values():
        assert 0 < histogram.max_us <= histogram.sum_us
        assert histogram.sum_us <= histogram.max_us * histogram.count
        assert bucket_of(histogram.max_us) == max(histogram.counts)
        assert histogram.sum_us == pytest.approx(
            sum(lower_edge_us(bucket) * count for bucket, count in histogram.counts.items()),
            rel=0.05,
            abs=histogram.count,
        )
    assert 0 < result.busy_us <= (result.end_ns - result.start_ns) / 1000


def in_time(subject, worked, wide_ns=300_000_000):
    """The begin and end of a slice, and its result; a busy host may come too late for it, and gets a longer one."""
    begin = subject.now_ns() + 200_000_000
    end = begin + wide_ns
    result = worked.run(not_before_ns=begin, until_ns=end)
    return (begin, end, result) if result.counts.ops else in_time(subject, worked, 2 * wide_ns)


def test_a_slice_keeps_to_its_times(subject):
    with subject.session(subject.workload()) as worked:
        begin, end, result = in_time(subject, worked)
        assert begin <= result.start_ns == result.first_op_ns
        assert end <= result.end_ns
        late = worked.run(until_ns=end)
        assert (late.counts.ops, late.first_op_ns, kinds_of(late)) == (0, None, {})
        assert late.start_ns >= result.end_ns


# --- keys


def chi_square(keys, bins):
    """Against the uniform distribution over 1…SCALE; its mean is bins - 1."""
    found = Counter((key - 1) * bins // SCALE for key in keys)
    expected = len(keys) / bins
    return sum((found[place] - expected) ** 2 / expected for place in range(bins))


# Once in 10^5 for 15 degrees of freedom; the seed is fixed, so this holds always or never.
MOST_CHI_SQUARE = 46


def updates_of(subject, watch, workload, *sizes, number=0, tag=None):
    with subject.session(workload, number, tag) as worked:
        watch.clear()
        worked.slices(*sizes)
    return watch.updates()


@pytest.mark.same_draws
def test_keys_of_updates_are_uniform_and_each_update_is_one_transaction(subject):
    workload = subject.workload(update_pct=100)
    with subject.watching() as watch:
        updates = updates_of(subject, watch, workload, 500, 500)
    assert len(updates) == 1000
    assert {len(update.keys) for update in updates} == {1}
    keys = [update.keys[0] for update in updates]
    assert chi_square(keys, 16) < MOST_CHI_SQUARE
    assert min(keys) < SCALE / 50
    assert max(keys) > SCALE - SCALE / 50
    # and one key says nothing of the next
    steps = [(after - before) % SCALE + 1 for before, after in pairwise(keys)]
    assert chi_square(steps, 16) < MOST_CHI_SQUARE


@pytest.mark.same_draws
def test_updates_and_selects_are_independent_of_the_key_s_parity(subject):
    """SLOB and pgio update even keys and read odd ones (METHOD 3.2)."""
    with subject.watching() as watch:
        updates = updates_of(subject, watch, subject.workload(update_pct=50), 800)
    even = sum(update.keys[0] % 2 == 0 for update in updates)
    assert len(updates) == 400
    assert 140 < even < 260  # six standard deviations


def select_keys(subject, workload, ops):
    """The key of each SELECT: bit by bit, from what it counts when only rows with that bit in their key have values."""
    keys = [0] * ops
    for bit in range(SCALE.bit_length()):
        with subject.with_values(f"custid % {2 << bit} >= {1 << bit}"), subject.session(workload) as worked:
            for op, result in enumerate(worked.slices(*[1] * ops)):
                keys[op] |= result.counts.rows_read << bit
    return keys


@pytest.mark.same_draws
def test_keys_of_selects_are_uniform_replayed_by_the_seed_and_the_same_in_long_slices(subject):
    workload = subject.workload(update_pct=0, seed=5)
    keys = select_keys(subject, workload, 100)
    assert 1 <= min(keys) < SCALE / 10
    assert SCALE - SCALE / 10 < max(keys) <= SCALE
    assert chi_square(keys, 16) < MOST_CHI_SQUARE
    # Another set of rows, in two slices instead of 100: what comes out is known beforehand.
    with subject.with_values("custid % 3 = 0"), subject.session(workload) as worked:
        first, second = worked.slices(60, 40)
    assert first.counts.rows_read == sum(key % 3 == 0 for key in keys[:60])
    assert second.counts.rows_read == sum(key % 3 == 0 for key in keys[60:])


# The first rank of each bin but the first: hot rows alone, others together.
BINS = (2, 3, 4, 6, 9, 16, 32, 64, 128)


@pytest.mark.same_draws
@pytest.mark.parametrize(("access", "work_unit"), [("zipf:0.99", 1), ("zipf:1", 3), ("zipf:2", 7)])
def test_skewed_keys_of_updates_follow_their_law(subject, access, work_unit):
    workload = subject.workload(update_pct=100, access=access, work_unit=work_unit)
    law = workload.key_law(SCALE)
    with subject.watching() as watch:
        updates = updates_of(subject, watch, workload, 400, 600)
    firsts = [min(update.keys) for update in updates]
    for first, update in zip(firsts, updates, strict=True):
        assert sorted(update.keys) == list(range(first, first + work_unit))
    assert max(firsts) <= SCALE - work_unit + 1
    found = Counter(bisect(BINS, law.rank_of(first)) for first in firsts)
    edges = [law.share_of_first(rank - 1) for rank in BINS]
    expected = [1000 * (after - before) for before, after in pairwise([0.0, *edges, 1.0])]
    # As for uniform keys: 9 degrees of freedom, once in 10^4, and the seed is fixed.
    assert sum((found[at] - count) ** 2 / count for at, count in enumerate(expected)) < 33.7


@pytest.mark.same_draws
def test_many_skewed_keys_of_selects_follow_their_law(subject):
    """Each run draws the same keys, of which only those of some ranks have values that it counts."""
    workload = subject.workload(access="zipf:0.99", seed=3)
    law, ops, found, ranks = workload.key_law(SCALE), effort.number(5_000, 20_000), [], (1, 2, 8, 64)
    for first, after in pairwise(ranks):
        keys = ", ".join(str(law.key_of(rank)) for rank in range(first, after))
        with subject.with_values(f"custid IN ({keys})"), subject.session(workload) as worked:
            found.append(sum(result.counts.rows_read for result in worked.slices(ops - 2_000, 2_000)))
    shares = [law.share_of_first(rank - 1) for rank in ranks]
    expected = [ops * (after - before) for before, after in pairwise(shares)]
    pairs = [*zip(found, expected, strict=True), (ops - sum(found), ops - sum(expected))]
    # 3 degrees of freedom: p = 0.01.
    assert sum((count - wanted) ** 2 / wanted for count, wanted in pairs) < 11.3


def work_of(updates):
    return [(update.schema, update.keys) for update in updates]


MIXED = {
    "update_pct": 60, "scan_pct": 25, "work_unit": 2, "sessions": 2, "seed": 11,
    "do_hotspot": True, "hotspot_mb": 1, "hotspot_offset_mb": 1, "hotspot_frequency": 3, "hot_schema_frequency": 4,
}  # fmt: skip


def test_slicing_changes_nothing(subject):
    workload = subject.workload(**MIXED)
    with subject.watching() as watch:
        long = updates_of(subject, watch, workload, 250, number=1)
        short = updates_of(subject, watch, workload, *SMALL_SLICES, number=1)
        shortest = updates_of(subject, watch, workload, *[1] * 250, number=1)
    assert len(long) == 150
    assert work_of(long) == work_of(short) == work_of(shortest)


def test_seed_and_session_decide_the_keys_and_nothing_else_does(subject):
    workload = subject.workload(update_pct=100, sessions=2)
    with subject.watching() as watch:
        first = updates_of(subject, watch, workload, 100, tag="one")
        again = updates_of(subject, watch, workload, 100, tag="two")
        neighbour = updates_of(subject, watch, workload, 100, number=1)
        other = updates_of(subject, watch, workload.model_copy(update={"seed": 2}), 100)
    keys = [update.keys for update in first]
    assert [update.keys for update in again] == keys
    for different in (neighbour, other):
        assert sum(update.keys == key for update, key in zip(different, keys, strict=True)) < 10


@pytest.mark.parametrize(("work_unit", "ops"), [(1, 400), (2, 400), (31, 250), (63, 60), (64, 40)])
def test_keys_stay_in_range_and_reach_both_ends_for_every_work_unit(subject, work_unit, ops):
    scale = 64
    workload = subject.workload(update_pct=100, scale=str(scale), work_unit=work_unit, update_work_unit=work_unit)
    with subject.watching() as watch:
        updates = updates_of(subject, watch, workload, ops)
    for update in updates:
        assert sorted(update.keys) == list(range(min(update.keys), min(update.keys) + work_unit))
    lowest, highest = ([edge(update.keys) for update in updates] for edge in (min, max))
    assert (min(lowest), max(highest)) == (1, scale)
    assert set(lowest) == set(range(1, scale - work_unit + 2)) or work_unit == 31


# --- contention


def updating(plan, ops):
    """Numbers of the operations that update, in order."""
    return [op for op, kind in enumerate(reference(plan, 0, ops)) if kind is OpKind.UPDATE]


@pytest.mark.same_draws
def test_the_hot_spot_and_the_hot_schema_get_exactly_every_nth_operation(subject):
    workload = subject.workload(**MIXED)
    plan = subject.plan(workload, 1)
    block_size = subject.engine.facts().block_size
    first = 1024**2 // block_size + 1
    hot_keys = range(first, first + 1024**2 // block_size)
    with subject.watching() as watch:
        updates = updates_of(subject, watch, workload, 400, number=1)
    cold = []
    for op, update in zip(updating(plan, 400), updates, strict=True):
        assert update.schema == (1 if is_due(op, 4, plan.phases.hot_schema) else plan.schema)
        if is_due(op, 3, plan.phases.hotspot):
            assert set(update.keys) <= set(hot_keys)
        else:
            cold.append(update.keys[0] in hot_keys)
    # All others are uniform over everything, the hot spot included.
    share = len(hot_keys) / SCALE
    assert statistics.mean(cold) == pytest.approx(share, abs=6 * (share * (1 - share) / len(cold)) ** 0.5)


# --- think time


def test_think_time_is_kept_across_slices_and_is_no_latency(subject, sleep_s=0.2):
    """Sleeps of 0.2 s in slices of 0.01 s: on a busy host, too, some slices begin and end within a sleep."""
    think = {"think_tm_frequency": 4, "think_tm_min": sleep_s, "think_tm_max": sleep_s + 0.05}
    workload = subject.workload(update_pct=100, **think, seed=3)
    plan = subject.plan(workload)
    with subject.watching() as watch, subject.session(workload) as worked:
        watch.clear()
        while worked.done < 16:
            worked.run(until_ns=subject.now_ns() + 10_000_000, max_ops=16 - worked.done)
        updates = watch.updates()
    thought = [
        after.at_us - before.at_us
        for op, (before, after) in enumerate(pairwise(updates))
        if is_due(op, 4, plan.phases.think)
    ]
    assert len(updates) == 16
    assert len(thought) in (3, 4)
    assert min(thought) >= sleep_s * 1e6
    busy_us = sum(result.busy_us for result in worked.results)
    assert busy_us < updates[-1].at_us - updates[0].at_us - 0.9e6 * sleep_s * len(thought)
    assert sum(result.counts.ops for result in worked.results) == 16
    assert any(result.counts.ops == 0 and result.first_op_ns is None for result in worked.results)


# --- updates


def test_each_update_commits_by_itself(subject, loop):
    if loop == "client":
        pytest.skip("servers count its SELECTs as transactions, too, or only COMMIT statements; keys show transactions")
    workload = subject.workload(update_pct=50)
    with subject.session(workload) as worked:
        delta = subject.counted(lambda: worked.slices(400))
    assert 200 <= delta.commits <= 200 + OTHERS_COMMITS


def test_changes_of_blocks_are_at_least_the_changed_rows_and_reading_makes_few(subject):
    if "block_changes" in subject.unknown:
        assert subject.counted(lambda: None).unknown["block_changes"]
        return

    def changes(update_pct):
        with subject.session(subject.workload(update_pct=update_pct, work_unit=8)) as worked:
            return subject.counted(lambda: worked.slices(200)).block_changes

    # Each row is in a block of its own, and its change has an undo record in another one.
    assert (changed := changes(100)) >= 2 * 200 * 8
    # What was changed before is purged at any time, but not for ever.
    assert eventually(lambda: changes(0) < changed / 4, seconds=60)


def test_the_latency_of_an_update_includes_its_commit(subject):
    workload = subject.workload(update_pct=100, sessions=1)
    with subject.session(workload) as worked, subject.slow_commits(seconds=0.1):
        result = worked.run(max_ops=1)
    assert result.latency[OpKind.UPDATE].sum_us >= 100_000
    assert result.end_ns - result.start_ns >= 100_000_000


def test_commit_mode_wait_forces_the_log_and_nowait_does_not(subject):
    syncs = {}
    for mode in ("wait", "nowait"):
        workload = subject.workload(update_pct=100, commit_mode=mode)
        with subject.engine.exclusive("test"), subject.session(workload) as worked:
            subject.engine.quiesce(workload, warm_cache=False)
            syncs[mode] = subject.counted(lambda worked=worked: worked.slices(100, 100)).log_syncs
    assert syncs["wait"] >= 200
    assert syncs["nowait"] < 100


@pytest.mark.parametrize("obfuscate", [False, True])
@pytest.mark.parametrize(("redo_stress", "columns"), [("LITE", {"c2", "c20"}), ("HEAVY", set(COLUMNS))])
def test_updates_write_their_columns_in_full_with_values_that_were_never_there(
    subject, redo_stress, columns, obfuscate
):
    workload = subject.workload(
        update_pct=100, redo_stress=redo_stress, obfuscate_columns=obfuscate, scale="16", sessions=2
    )
    with subject.watching() as watch:
        # Tag and operation number side by side are the same for run1.1's 23rd and run1.12's 3rd.
        updates = [
            update
            for number, tag in enumerate(("run1.1", "run1.12", "run2.1"))
            for update in updates_of(subject, watch, workload, 60, 40, number=number % 2, tag=tag)
        ]
    for update in updates:
        assert {column for column in COLUMNS if update.before[column] != update.after[column]} == columns
        assert {len(update.after[column]) for column in columns} == {128}
    for column in columns:
        assert len({update.after[column] for update in updates}) == len(updates) == 300  # though there are but 16 rows


FILLS = {"plain": {}, "half": {"obfuscate_columns": True, "compressible": 50}, "random": {"obfuscate_columns": True}}


def test_obfuscated_values_do_not_compress_plain_ones_do_and_a_chosen_share_in_between(subject):
    shares, entropy = {}, {}
    for name, fill in FILLS.items():
        workload = subject.workload(update_pct=100, redo_stress="HEAVY", **fill)
        with subject.watching() as watch:
            updates = updates_of(subject, watch, workload, 50)
        text = "".join(value for update in updates for value in update.after.values()).encode()
        shares[name], entropy[name] = lz_size(text) / len(text), len(zlib.compress(text, 9)) / len(text)
    assert shares["plain"] < 0.1
    assert shares["half"] == pytest.approx(0.5, abs=0.06)
    assert shares["random"] >= 0.9
    # Text of 64 different characters holds 6 bits in 8.
    assert entropy["random"] > 0.74
