"""The notebook of the tutorial runs as it is printed, cell by cell, with tiny data and short runs."""

from __future__ import annotations

import os

import pytest

from factories.paths import ROOT, SOURCE
from openslob.core import rehearsal
from openslob.engines import registry

NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"


def cells():
    """The notebook, which is a valid one, and its cells with code."""
    import nbformat  # noqa: PLC0415 - a moment of CPU, which each worker would spend

    notebook = nbformat.read(NOTEBOOK, nbformat.current_nbformat)
    nbformat.validate(notebook)
    return notebook, [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_notebook_is_kept_without_outputs():
    _, code = cells()
    assert code
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.server
@pytest.mark.nightly
def test_the_notebook_runs_and_leaves_only_records(slob_home, tmp_path, monkeypatch):
    # One worker of the notebook is a kernel, a process of its own.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCE.parent), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("SLOB_WARMUP", "0")
    monkeypatch.setenv(rehearsal.VARIABLE, "100")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    from nbclient import NotebookClient  # noqa: PLC0415 - as above

    notebook, code = cells()
    folder = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=240, kernel_name="python3", resources=folder).execute()
    shown = {cell.source.splitlines()[-1]: [output.get("data", {}) for output in cell.outputs] for cell in code}
    for last in ("server", "run", "sweep", "openslob.compare(run, after, anyway=True)"):
        assert shown[last][-1]["text/html"].startswith("<div"), last
    assert "verdicts hold" in shown["run"][-1]["text/html"]
    # Where progress was shown, nothing is left of it.
    assert shown["run"][0]["text/plain"] == ""
    assert all("vega" in shown[plot][-1]["text/html"] for plot in ('run.plot("timeline")', "sweep.plot()"))
    assert (tmp_path / "first.html").stat().st_size > 100_000
    assert registry.find("notebook") is None
    assert len(list((tmp_path / "results").glob("*-first/run.json"))) == 1
