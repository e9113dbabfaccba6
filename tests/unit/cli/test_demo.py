"""The end of the demonstration: a picture on the terminal, and the HTML report with its address."""

from factories.records import Made, cached, physical
from openslob.cli import demo
from openslob.kinds import runs
from openslob.record.store import RunFolder


def made(results):
    """Records as the demonstration leaves them."""
    made_runs = [
        cached(),
        *(
            physical(Made(sessions=count, visits=9_000.0 * count, update_pct=pct))
            for pct in (0, 20)
            for count in (2, 8, 32)
        ),
    ]
    for number, run in enumerate(made_runs):
        spec = {**run.spec, "mode": "pio" if number else "lio", "schemas": 2}
        record = run.model_copy(
            update={
                "id": f"20260301-12000{number}-{run.name}{number}",
                "name": f"{run.name}{number}",
                "started_at": f"2026-03-01T12:00:0{number}Z",
                "spec": spec,
            }
        )
        with RunFolder.begin(results, record) as folder:
            folder.finish(record)
        yield runs.find([record.id], results)


def test_the_report_is_beside_the_records_and_its_address_is_told(tmp_path):
    found = runs.join(list(made(tmp_path)))
    address = demo.write_page(found, tmp_path)
    page = tmp_path / "20260301-120000-demo.html"
    assert address == page.as_uri()
    assert all(record.id in page.read_text() for record in found.records)
    assert f"\nReport:  {address}\nRecords: {tmp_path}\n" in demo.next_steps(tmp_path, keep=False, address=address)
    assert len(runs.find([str(tmp_path)], tmp_path).runs) == len(found.runs), "the report is not taken for a record"


def test_without_room_for_the_report_the_records_are_told_all_the_same(tmp_path, capsys):
    found = runs.join(list(made(tmp_path)))
    assert demo.write_page(found, tmp_path / "missing") == ""
    assert "there is no HTML report: " in capsys.readouterr().err
    assert f"\nRecords: {tmp_path}" in demo.next_steps(tmp_path, keep=False)


def test_a_petal_of_the_physical_runs_is_drawn(tmp_path):
    found = runs.join(list(made(tmp_path)))
    drawn = demo.petals(found, 80)
    assert max(map(len, drawn.splitlines())) <= 80
    assert all(f"{mark} {pct} % updates" in drawn for mark, pct in (("o", 0), ("x", 20)))
    assert "Physical read requests (1/s)" in drawn
    assert demo.petals(runs.join([next(made(tmp_path / "cached"))]), 80) == ""
