"""What each class of sessions does per second is seen while a run goes on, as far as it is known."""

import pytest

from factories.live import run_of_classes
from openslob.kinds.contract import follow
from openslob.live.web.pictures import RatePanel, pictures_of
from openslob.report.record_view import FigureNames


@pytest.fixture
def view(tmp_path):
    return follow(run_of_classes(tmp_path / "made", seconds=10, timed=8).folder).view()


def test_each_class_has_its_operations_per_second(view):
    assert [name for name in view.names if name.endswith("ops_per_s")][-2:] == [
        "readers/ops_per_s",
        "writers/ops_per_s",
    ]
    # 320 selects and 80 updates a second. Latencies of the last two seconds are not there yet: that is no rate of 0.
    assert view.series("readers/ops_per_s").mean == [320.0] * 8 + [None] * 2
    assert view.series("writers/ops_per_s").mean == [80.0] * 8 + [None] * 2
    assert view.series("readers/ops_per_s", most=2).mean == [320.0] * 2
    with pytest.raises(KeyError):
        view.series("others/ops_per_s")


def test_the_page_draws_a_line_for_each_class(view):
    (panel,) = (each for each in pictures_of(view, FigureNames()) if each.name == "classes")
    assert isinstance(panel, RatePanel)
    assert [label for _, label in panel.series] == ["readers", "writers"]
