"""A driver notices that it stood still, and what kept it from going on."""

import subprocess
import sys
import time
from select import select
from signal import SIGCONT, SIGSTOP

import pytest

from openslob.fleet import stillness
from openslob.fleet.stillness import StillnessWatch

# Rests for a moment again and again, until it noticed that it stood still; then says so.
RESTING = """
import time
from openslob.fleet.stillness import StillnessWatch
watch = StillnessWatch()
print("resting", flush=True)
while watch.longest is None:
    watch.begin()
    time.sleep(0.05)
    watch.end(0.05)
found = watch.longest
print(found.seconds, found.cpu_s, found.waited_s, time.time_ns() - found.begin_ns)
"""


class Clock:
    """In place of the watch's clocks: `time.time_ns`, `monotonic` and `process_time`, and the time without a CPU."""

    def __init__(self, monkeypatch):
        self.now_s, self.cpu_s, self.waited_s = 100.0, 1.0, 2.0
        monkeypatch.setattr(stillness, "time", self)
        monkeypatch.setattr(stillness, "waited_for_cpu_s", lambda: self.waited_s)

    def time_ns(self):
        return round(self.now_s * 1e9)

    def monotonic(self):
        return self.now_s

    def process_time(self):
        return self.cpu_s

    def move(self, seconds, cpu_s=0.0, waited_s=0.0):
        self.now_s, self.cpu_s, self.waited_s = self.now_s + seconds, self.cpu_s + cpu_s, self.waited_s + waited_s


def test_the_longest_time_that_a_thread_woke_up_late_is_kept_with_what_it_did(monkeypatch):
    clock = Clock(monkeypatch)
    watch = StillnessWatch()
    for rest_s, cpu_s, waited_s in ((0.2, 0.0, 0.0), (5.2, 0.3, 0.1), (2.2, 0.0, 2.0), (1.1, 0.0, 0.0)):
        watch.begin()
        clock.move(rest_s, cpu_s, waited_s)
        watch.end(0.2)
        # What it does between two rests is no stillness.
        clock.move(60.0, 60.0)
    found = watch.longest
    assert (found.seconds, found.cpu_s, found.waited_s) == pytest.approx((5.0, 0.3, 0.1))
    assert found.begin_ns == pytest.approx((100.0 + 0.2 + 60.0 + 0.2) * 1e9)


def test_a_thread_that_wakes_up_in_time_did_not_stand_still(monkeypatch):
    clock = Clock(monkeypatch)
    watch = StillnessWatch()
    watch.begin()
    clock.move(1.1)
    watch.end(0.2)
    assert watch.longest is None


def test_a_process_that_was_stopped_says_that_it_was():
    with subprocess.Popen([sys.executable, "-c", RESTING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "resting\n"
        stops, asleep_s = 0, 0.0
        # A stop that strikes while it does not rest is not seen.
        while not select([process.stdout], [], [], 1.0)[0] and stops < 20:
            stops, begun = stops + 1, time.monotonic()
            process.send_signal(SIGSTOP)
            time.sleep(stillness.LEAST_S + 0.5)
            process.send_signal(SIGCONT)
            asleep_s = time.monotonic() - begun
        seconds, cpu_s, waited_s, ago_ns = (float(each) for each in process.stdout.readline().split())
    assert seconds >= stillness.LEAST_S
    assert ago_ns >= seconds * 1e9
    if stops and seconds >= asleep_s - 0.2:
        # While it was stopped it used no CPU, and waited for none.
        assert cpu_s + waited_s <= seconds - asleep_s + 0.6 * asleep_s


def test_where_the_system_does_not_count_it_the_time_without_a_cpu_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setattr(stillness, "SCHEDULED", tmp_path / "schedstat")
    assert stillness.waited_for_cpu_s() is None
