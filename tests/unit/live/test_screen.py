"""The screen: the figures of a view are read on it at the sizes of terminals, and every key does its work."""

import asyncio
import os
import signal
from dataclasses import replace

import pytest
from textual import _wait

from factories.live import OPS, READS, run_folder, run_of_classes
from factories.views import HEAD, P99_US, MadeSource, MadeView, sweep_view
from openslob.core.errors import SlobError
from openslob.kinds.contract import follow
from openslob.kinds.view import RecordState
from openslob.live.screen import app as app_module
from openslob.live.screen.app import LiveScreen
from openslob.live.screen.canvas import Canvas, Role, Signs
from openslob.live.screen.panes import PaneContent, Screenful, current, draw, draw_help
from openslob.live.screen.playhead import Playhead
from openslob.metrics import METRICS
from openslob.record.model import Figure, Holds, Verdict
from openslob.report.format import micros, number

SMALL, MEDIUM, LARGE = (80, 24), (120, 40), (200, 50)
FINISHED = replace(HEAD, progress=RecordState.COMPLETE, phase="", elapsed_s=60.0)


def text_of(view=MadeView(), tab=1, size=SMALL, signs=Signs(), **options):  # noqa: B008 - frozen
    """What a tab shows of a view, without the program around it."""
    run = view.current or view
    span = Playhead().span(run.head.elapsed_s, run.head.planned_s)
    canvas = Canvas.blank(size[0], size[1] - 1)
    draw(canvas, Screenful(PaneContent(run, view, span, signs, **options), tab - 1, Playhead()))
    return "\n".join(canvas.lines())


def played(source, *steps, size=SMALL, command=None, speed=None):
    """The program, headless. Each step is a key, or a check of the program; it returns the program that has ended."""

    async def play():
        app = LiveScreen(source, Signs(), command, speed)
        async with app.run_test(size=size) as pilot:
            for step in steps:
                if isinstance(step, str):
                    await pilot.press(step)
                    await pilot.pause()
                else:
                    assert step(app.board.text), app.board.text
        return app

    return asyncio.run(play())


class Clock:
    """In place of the screen's `time`: it stands still, so that a replay moves when the test wants it to."""

    now_s = 1000.0

    def monotonic(self):
        return self.now_s


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(app_module, "time", made)
    return made


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Textual waits several times for each key until its loop has had nothing to do, for at least 20 ms."""
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", _wait.SLEEP_GRANULARITY / 10)
    monkeypatch.setattr(_wait, "SLEEP_IDLE", _wait.SLEEP_IDLE / 10)


def has(text):
    return lambda shown: text in shown


def lacks(text):
    return lambda shown: text not in shown


@pytest.mark.parametrize("size", [SMALL, MEDIUM, LARGE])
def test_the_figures_of_the_record_are_on_the_screen(size):
    text = text_of(size=size)
    for expected in ("12,345/s", "131 µs", "1,210/s", "57,960/s", "1.02", "51.3 %", f"p99 {micros(P99_US)}"):
        assert expected in text
    for told in (
        "run 20260301-120000-made",
        "window",
        "0:23 of 1:00",
        "37 s left",
        "PostgreSQL 18.1",
        "8 sessions, 10 % updates",
    ):
        assert told in text
    assert max(len(line) for line in text.splitlines()) <= size[0]


def test_a_large_terminal_shows_all_panes():
    text = text_of(size=LARGE)
    for pane in ("Per second", "Latency of selects", "Waits, sessions", "Host CPU", "Device, per second",
                 "share of operations", "Verdicts so far", "Notes"):  # fmt: skip
        assert pane in text


def test_classes_of_sessions_have_a_pane_of_their_rates(tmp_path):
    view = follow(run_of_classes(tmp_path / "made", seconds=10, timed=8).folder).view()
    text = text_of(view, size=LARGE)
    assert all(shown in text for shown in ("Operations per second", "readers 320", "writers 80", "readers/select p99"))
    assert "Operations per second" not in text_of(size=LARGE)


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        (2, ["p50 131 µs", "p99.9 9.10 ms", "longest 24 ms", "share of operations"]),
        (3, ["IO:DataFileRead 6.50", "event", "81.2 %"]),
        (4, ["user 31 %", "iowait 22 %", "reads 12,400"]),
        (5, ["✗ caution    quiet machine  9.4 % of the CPU time", "✓ holds", "known at the end of the run"]),
        (6, ["0:08  a checkpoint began", "error: session 3 was lost"]),
    ],
)
def test_each_tab_shows_its_side(tab, expected, size):
    text = text_of(tab=tab, size=size)
    for each in expected:
        assert each in text


def test_a_sweep_shows_its_petals_and_the_point_that_is_measured():
    text = text_of(sweep_view(), size=LARGE)
    for expected in ("sweep 20260301-120000-made", "4 of 6 points", "running", "12,345/s"):
        assert expected in text
    line = "running  20 % updates  8 sessions  reads 12,345/s  read latency 502 µs"
    assert line in text_of(sweep_view(), 7, LARGE)


def ended(view, **head):
    """A view of what is over."""
    return replace(view, head=replace(view.head, progress=RecordState.COMPLETE, phase="", **head))


def test_a_sweep_between_its_runs_says_that_the_last_one_is_shown():
    made = sweep_view()
    assert "the last run" not in text_of(made)
    text = text_of(replace(made, current=ended(MadeView()), head=replace(made.head, phase="connect")))
    assert text.splitlines()[1:3] == [
        "4 of 6 points  connect",
        "the last run: PostgreSQL 18.1 · 8 sessions, 10 % updates · postgresql://slob@db…",
    ]
    assert "12,345/s" in text


@pytest.mark.parametrize("size", [SMALL, MEDIUM, LARGE])
def test_a_finished_sweep_shows_its_petals_and_points(size):
    done = tuple(each for each in sweep_view().points if each.state == "done")
    text = text_of(ended(replace(sweep_view(), points=done, current=ended(MadeView()))), size=size)
    assert "4 of 4 points  complete" in text
    for each in ("reads per second", "0 % updates", "   3  done     0 % updates  32 sessions  reads 32,500/s"):
        assert each in text


def test_petals_of_a_sweep_in_the_cache_are_those_of_logical_reads():
    figures = {"lio_per_s": Figure(value=5e5, unit="blocks/s"), "op_mean_us": Figure(value=80.0, unit="µs")}
    points = [replace(each, figures=figures) for each in sweep_view().points if each.state == "done"]
    text = text_of(replace(sweep_view(), points=tuple(points)), tab=7)
    assert "logical reads per second" in text
    assert "mean latency" in text


@pytest.mark.parametrize("size", [SMALL, MEDIUM])
def test_petals_have_more_room_than_what_is_beside_them(size):
    lines = text_of(sweep_view(), size=size).splitlines()
    rows = lines[next(at for at, line in enumerate(lines) if line.startswith("Petals")) :]
    assert next(at for at, line in enumerate(rows) if at and line.startswith(("Per second", "Latency"))) >= 10


@pytest.mark.parametrize("view", [MadeView(), sweep_view()], ids=["run", "sweep"])
@pytest.mark.parametrize("tab", range(1, 8))
def test_a_terminal_without_other_signs_gets_ascii(view, tab):
    for coloured in (True, False):
        assert text_of(view, tab, signs=Signs(ascii=True, coloured=coloured)).isascii()
    canvas = Canvas.blank(*SMALL)
    draw_help(canvas, Signs(ascii=True), attached=True)
    assert "\n".join(canvas.lines()).isascii()


def test_without_colour_the_parts_differ_by_signs():
    text = text_of(tab=3, signs=Signs(coloured=False))
    assert "o IO:DataFileRead" in text
    assert "+ on CPU" in text


def test_a_run_that_was_too_short_to_be_drawn_is_not_one_that_has_measured_nothing():
    view = MadeView(names=(), now={})
    assert "nothing measured yet" in text_of(view)
    text = text_of(ended(view))
    assert "nothing measured yet" not in text
    assert "too short: seconds in which counters lag are left out" in text


@pytest.mark.parametrize("size", [(20, 6), (40, 10), (80, 12), (57, 24), (300, 100)])
@pytest.mark.parametrize("view", [MadeView(), sweep_view()], ids=["run", "sweep"])
def test_any_size_is_drawn(size, view):
    for tab in range(1, 8):
        assert text_of(view, tab, size)


def test_what_is_not_known_is_a_dash():
    names, values = (line for line in text_of(size=LARGE).splitlines() if "12,345/s" in line or " redo" in line)
    assert names.endswith("redo")
    assert values.endswith("–")


def test_no_figure_of_the_screen_claims_that_reads_were_physical():
    """Whether they reached a device is a verdict."""
    labels = [label for label, _ in current({name: Figure(value=1.0, unit="1/s") for name in METRICS})]
    assert "reads per CPU second" in labels
    assert not [label for label in labels if "IOPS" in label or "hysical" in label]


@pytest.mark.parametrize("tab", range(1, 7))
def test_a_record_with_nothing_measured_yet_is_shown(tab):
    head = replace(HEAD, elapsed_s=0.0, planned_s=None)
    assert "run 20260301-120000-made" in text_of(MadeView(names=(), now={}, verdicts=(), notes=(), head=head), tab)


def test_an_observation_has_no_latency_of_our_own():
    view = MadeView(names=("pio_read_per_s", "engine_read_latency_us"), head=replace(HEAD, kind="observation"))
    assert "Latency of the engine  ■ read latency 131 µs" in text_of(view)


def test_only_what_must_not_be_used_is_red_and_it_comes_first():
    failed = [Verdict(name=name, verdict=Holds.FAILS, why="made to") for name in ("limit_found", "steady", "exact_mix")]
    view = MadeView(verdicts=(*MadeView().verdicts, *failed))
    canvas = Canvas.blank(80, 23)
    draw(canvas, Screenful(PaneContent(view, view, Playhead().span(23.0, 60.0), Signs()), 4, Playhead()))
    begins = [canvas.runs(y)[0] for y in range(5, 11)]
    assert [(text.rstrip(), role) for text, role in begins] == [
        ("✗ invalid", Role.BAD),
        ("✗ caution", Role.UNSURE),
        ("✗ caution", Role.UNSURE),
        ("✗ note       limit found    made to", Role.PLAIN),
        ("? can't tell", Role.SOFT),
        ("✓ holds", Role.GOOD),
    ]


def test_maps_show_shares_of_the_time():
    assert "share of the time" in text_of(tab=2, intensity=True)


def test_long_lists_scroll():
    view = MadeView(verdicts=MadeView().verdicts * 20)
    assert "✓ holds" not in text_of(view, 5)
    assert "✓ holds" in text_of(view, 5, scroll=50)
    assert text_of(view, 5, scroll=-5) == text_of(view, 5)


def test_reservations_come_before_any_figure():
    view = MadeView(head=replace(HEAD, reservations=("No database: computed.", "Experimental: new.")))
    assert text_of(view).splitlines()[3:5] == ["! No database: computed.", "! Experimental: new."]


def test_a_run_in_progress_is_held_where_it_is():
    app = played(
        MadeSource(), "space", has("held at 0:23"), "space", "end", lacks("held"), "left", has("held at 0:22"),
        "right", lacks("held"), "home", has("held at 0:00"), "end", lacks("held"), "q",
    )  # fmt: skip
    assert app.return_code == 0


def test_a_finished_record_is_replayed_from_its_begin():
    played(
        MadeSource(MadeView(head=FINISHED)), has("complete  "), "space", has("replay x1 at 0:00"), "plus", "plus",
        has("replay x5 at 0:00"), "minus", has("replay x2 at 0:00"), "space", has("held at 0:00"),
    )  # fmt: skip
    app = played(MadeSource(MadeView(head=FINISHED)), has("replay x10 at 0:00"), "ctrl+q", speed=10)
    assert app.return_code == 0


def test_a_replay_goes_on_with_the_clock_at_its_speed(clock):
    async def look():
        app = LiveScreen(MadeSource(MadeView(head=FINISHED)), Signs(), speed=10)
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            for passed_s, expected in ((2.0, "replay x10 at 0:20"), (3.5, "replay x10 at 0:55"), (0.5, "complete  ")):
                clock.now_s += passed_s
                app.tick()
                assert expected in app.board.text
            assert "replay" not in app.board.text

    asyncio.run(look())


def test_a_sweep_has_a_tab_of_its_points():
    played(MadeSource(sweep_view()), has("sweep 20260301-120000-made"), "7", has("Points"), "tab", has("logical reads"))


def test_keys_choose_what_is_shown():
    source = MadeSource(elapsed_s=1000.0, planned_s=3600.0)
    played(
        source, has("1:00:00"), "z", has("5:00"), "z", has("13:00"), "z", has("16:00"), "z", has("1:00:00"),
        "2", has("share of operations"), "m", has("share of the time"), "tab", has("Sessions by event"),
        "shift+tab", "shift+tab", has("logical reads"), "shift+tab", has("Notes"), "7", has("Notes"),
        "question_mark", has("leave the screen; nothing else ends"), "question_mark", has("Notes"),
        "5", "pagedown", has("quiet machine"),
    )  # fmt: skip


def test_a_terminal_that_changes_its_size_is_filled():
    async def look():
        app = LiveScreen(MadeSource(), Signs(coloured=False))
        async with app.run_test(size=SMALL) as pilot:
            await pilot.resize_terminal(*LARGE)
            await pilot.pause()
            assert "Verdicts so far" in app.board.text
            styles = [segment.style for y in range(49) for segment in app.board.render_line(y)]
            assert {style.color for style in styles} == {None}

    asyncio.run(look())


def test_figures_change_each_second_and_plots_every_other():
    async def look():
        source = MadeSource()
        app = LiveScreen(source, Signs())
        async with app.run_test(size=LARGE) as pilot:
            await pilot.pause()
            before = app.board.text.splitlines()
            source.made = replace(MadeView(now={}), verdicts=())
            app.board.redraw(whole=False)
            after = app.board.text.splitlines()
            assert "12,345/s" in before[5]
            assert "12,345/s" not in after[5]
            assert before[6:] == after[6:]
            app.board.redraw()
            assert "no verdict yet" in app.board.text

    asyncio.run(look())


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_record_that_grows_and_ends_is_on_the_screen(tmp_path, size):
    made = run_folder(tmp_path / "20260301-120000-made", 30, finished=False)
    source = follow(made.folder)
    per_s = 8 * OPS
    reads = f"{per_s * READS:,}/s"

    async def look():
        app = LiveScreen(source, Signs())
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            assert f"run {made.record.id}" in app.board.text
            assert reads in app.board.text
            made.grow(7)
            app.tick()
            app.board.redraw()
            assert "0:37 of 0:30" in app.board.text
            record = made.finish()
            app.tick()
            app.board.redraw()
            assert "complete" in app.board.text
            expected = {name: record.summary[name] for name in ("pio_read_per_s", "block_visits_per_s")}
            for figure in expected.values():
                assert f"{number(figure.value)}/s" in app.board.text
            await pilot.press("5")
            for verdict in record.verdicts[: 3 if size is SMALL else None]:
                assert verdict.name.replace("_", " ") in app.board.text

    asyncio.run(look())


class Long(MadeSource):
    """A record that several looks read."""

    read_share, goes_on = 0.1, False

    def poll(self):
        if self.goes_on:
            self.read_share = min(1.0, self.read_share + 0.25)
        return super().poll()


def test_a_long_record_is_read_while_it_is_shown():
    async def look():
        source = Long()
        app = LiveScreen(source, Signs())
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            assert "10 % of the record is read" in app.board.text
            source.goes_on = True
            for _ in range(1200):
                await pilot.pause(0.1)
                if "of the record is read" not in app.board.text:
                    break
            assert source.read_share == 1
            assert "of the record is read" not in app.board.text

    asyncio.run(look())


def test_only_what_changed_is_sent_to_the_terminal():
    async def look():
        source = MadeSource()
        app = LiveScreen(source, Signs())
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            refreshed = []
            app.board.refresh = lambda *regions, **_: refreshed.extend(regions)
            app.board.redraw()
            assert not refreshed
            source.made = replace(source.made, head=replace(HEAD, id=HEAD.id[:-1] + "k"))
            app.board.redraw()
            assert [(region.x, region.y, region.width) for region in refreshed] == [(23, 0, 1)]

    asyncio.run(look())


class Broken(MadeSource):
    def poll(self):
        raise SlobError("run.json is damaged", "restore it")


def test_a_damaged_record_ends_the_screen_with_the_reason():
    app = played(Broken())
    assert app.problem.what == "run.json is damaged"
    assert app.return_code == 1


class Driving:
    def __init__(self):
        self.said, self.made, self.stops = "loading 45 %", None, 0
        self.descriptor, self.feed = os.pipe()

    def listen(self):
        return not os.read(self.descriptor, 100)

    def source(self):
        return self.made

    def stop(self):
        self.stops += 1


def test_the_screen_of_a_command_is_that_of_what_the_command_writes():
    command = Driving()
    played(None, has("loading 45 %"), "2", "tab", "space", has("loading 45 %"), "q", command=command)
    command.made = MadeSource()
    played(None, has("run 20260301-120000-made  loading 45 %"), "ctrl+c", has("window"), "q", command=command)
    command.said = f"[1 of 8] {HEAD.name}"
    played(None, has("-made  [1 of 8]\n"), "q", command=command)
    assert command.stops == 1
    os.close(command.feed)
    assert played(None, command=command).return_code == 0
    os.close(command.descriptor)


def test_while_the_next_run_of_a_command_begins_the_last_one_stays():
    async def look():
        command = Driving()
        command.made = first = MadeSource(MadeView(head=replace(HEAD, id="20260301-120000-first")))
        app = LiveScreen(None, Signs(), command)
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            # Its result is there once the next run has begun.
            first.made = ended(first.made)
            head = replace(HEAD, id="20260301-120100-second", phase="connect", elapsed_s=0.0)
            command.made, polls = MadeSource(MadeView(head=head, now={}, names=())), first.polls
            app.tick()
            assert first.polls > polls
            app.board.redraw()
            lines = app.board.text.splitlines()
            assert lines[0].startswith("run 20260301-120100-second")
            assert lines[1].strip() == "connect"
            assert lines[2].startswith("the last run: PostgreSQL 18.1")
            assert "12,345/s" in app.board.text
            command.made.made = MadeView(head=replace(head, phase="window", elapsed_s=3.0))
            app.tick()
            app.board.redraw()
            assert "the last run" not in app.board.text
            assert "0:03 of 1:00" in app.board.text
        os.close(command.feed)
        os.close(command.descriptor)

    asyncio.run(look())


def test_ctrl_c_ends_a_screen_of_its_own():
    assert played(MadeSource(), "ctrl+c").return_code == 0


@pytest.mark.parametrize("size", [(300, 2), (300, 3), (300, 6), (20, 5), (3, 40), (1, 1)])
def test_a_terminal_without_room_is_no_error(size):
    for tab in range(1, 8):
        text_of(sweep_view(), tab=tab, size=size)
        canvas, run = Canvas.blank(*size), MadeView()
        shown = PaneContent(run, run, Playhead().span(60.0, 60.0), Signs())
        draw(canvas, Screenful(shown, min(tab, 6) - 1, Playhead(5.0)))


def test_a_signal_to_end_gives_the_terminal_back():
    async def killed():
        app = LiveScreen(MadeSource(), Signs())
        async with app.run_test(size=SMALL) as pilot:
            os.kill(os.getpid(), signal.SIGTERM)
            await pilot.pause(0.1)
        return app

    assert asyncio.run(killed()).return_code == 128 + signal.SIGTERM
