"""Connections that show no token can't keep out those that do."""

from __future__ import annotations

from functools import partial

from openslob.live.web.door import Door


def test_the_newest_takes_the_place_of_the_oldest_that_waits():
    door = Door(most_waiting=2, most_in=2)
    sent_away: list[int] = []
    for port in range(5):
        door.arrive(("::1", port), partial(sent_away.append, port))
    assert sent_away == [0, 1, 2]
    assert door.let_in(("::1", 4))
    door.lose_patience(("::1", 3))
    door.lose_patience(("::1", 4))  # it is in
    assert sent_away == [0, 1, 2, 3]


def test_those_that_are_in_are_so_many_until_they_leave():
    door = Door(most_waiting=10, most_in=2)
    assert [door.let_in(("127.0.0.1", port)) for port in (1, 2, 2, 3)] == [True, True, True, False]
    door.leave(("127.0.0.1", 1))
    assert door.let_in(("127.0.0.1", 3))
