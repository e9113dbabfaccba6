"""The documentation is in step with the product: commands, options, figures, verdicts, file formats, links."""

from __future__ import annotations

import inspect
import re
import runpy

import typer

from factories.paths import ROOT
from factories.tables import table
from openslob.analyze.verdicts import VERDICTS
from openslob.cli import app
from openslob.config.parameters import parameters
from openslob.core.workload import Mode
from openslob.engines import base
from openslob.metrics import METRICS, STORAGE_METRICS
from openslob.record.raw_csv import COLUMNS

DOCS = ROOT / "docs"
GENERATED = runpy.run_path(str(ROOT / "tools" / "generate_docs.py"))["PAGES"]
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "bench" / "README.md"]
# Pages, tables and quoted output that code or tests make, or hold to what they know.
MADE = {"parameters.md", "figures.md", "flavours.md", "reliability.md", "tried-servers.md"}
MADE_PARTS = re.compile(
    r"^\| (?:set \| section|name \| figures, the|command \| what it|column \| unit|setting \| tried as) .*?(?:\n\n|\Z)"
    r"|^<!-- printed: .*?^```\n.*?^```\n",
    re.MULTILINE | re.DOTALL,
)
# What somebody wrote by hand, somebody must read.
MOST_WORDS = 46_000
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def commands(group=None, prefix=("slob",)):
    """Every command with its full name, those of groups included."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        path = (*prefix, name)
        if hasattr(command, "commands"):
            yield from commands(command, path)
        else:
            yield " ".join(path), command


COMMANDS = dict(commands())


def anchors(page):
    """The anchors that a page's headings have, as common renderers make them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def without_code(page):
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def cells(page):
    """The names in backquotes at the head of a page's table rows."""
    return set(re.findall(r"^\| `([\w .]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE))


def test_there_are_commands():
    assert {"slob run", "slob load", "slob server start"} <= set(COMMANDS)


@table("name", COMMANDS)
def test_every_command_has_help_with_an_example(name):
    text = COMMANDS[name].help or ""
    assert len(text.split()) > 4
    assert f"Example: {name}" in text


@table("name", COMMANDS)
def test_every_option_has_help(name):
    # The argument parser's own --help is not ours to explain.
    silent = [one.name for one in COMMANDS[name].params if not getattr(one, "help", "") and one.name != "help"]
    assert silent == []


@table("name", COMMANDS)
def test_every_command_is_in_the_index_with_an_example(name):
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{name}` \| .+ \| `{name}\b.*` \|$", index, re.MULTILINE)


def test_the_index_names_no_command_that_is_not_there():
    assert {name for name in cells(DOCS / "README.md") if name.startswith("slob ")} == set(COMMANDS)


@table("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    for link in LINK.findall(without_code(page)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    names = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert [name for name in names if name != "README.md" and f"({name})" not in index] == []


def test_every_page_is_in_the_navigation_of_the_site():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    names = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert names - set(re.findall(r": ([\w/-]+\.md)$", navigation, re.MULTILINE)) == set()


@table("name", GENERATED)
def test_a_generated_page_is_up_to_date(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    assert text == GENERATED[name](), f"docs/{name} is out of date: run tools/generate_docs.py"


def test_pages_that_are_written_by_hand_are_short_enough_to_be_read():
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md") if page.name not in MADE]
    words = [word for text in pages for word in re.findall(r"\S*\w\S*", MADE_PARTS.sub("", text))]
    assert len(words) <= MOST_WORDS, f"{len(words):,} words: say it once and link, or let the program say it"


def test_the_generated_pages_name_every_metric_and_parameter():
    assert cells(DOCS / "figures.md") == {*METRICS, *STORAGE_METRICS}
    assert cells(DOCS / "parameters.md") == {one.slob for one in parameters().values()}


def test_every_verdict_is_explained_and_no_other():
    page = DOCS / "reading-a-result.md"
    section = page.read_text(encoding="utf-8").partition("| verdict |")[2].partition("\n\n")[0]
    explained = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert explained == [verdict.__name__ for verdict in VERDICTS]


def test_every_mode_is_explained():
    assert {mode.value for mode in Mode} <= cells(DOCS / "method.md")


def test_every_column_of_the_raw_files_is_documented():
    text = (DOCS / "design.md").read_text(encoding="utf-8")
    for name, columns in COLUMNS.items():
        row = re.search(rf"^\| `{name}` \| (.+?) \|", text, re.MULTILINE)
        assert row, name
        assert tuple(re.findall(r"`(\w+)`", row[1])) == columns


def test_the_page_on_engines_names_every_protocol():
    text = (DOCS / "adding-an-engine.md").read_text(encoding="utf-8")
    classes = inspect.getmembers(base, inspect.isclass)
    protocols = {
        name for name, one in classes if one.__module__ == base.__name__ and getattr(one, "_is_protocol", False)
    }
    assert {"Engine", "Session"} <= protocols
    assert {name for name in protocols if re.search(rf"\b{name}\b", text)} == protocols


def test_files_that_pages_for_contributors_name_exist():
    """Names with a folder; ENGINE stands for any engine's."""
    pages = ["how-a-run-becomes-a-figure.md", "where-things-live.md", *(page.name for page in DOCS.glob("adding-*.md"))]
    source = ROOT / "src" / "openslob"
    for page in pages:
        text = (DOCS / page).read_text(encoding="utf-8")
        named = set(re.findall(r"`([\w.*-]+/[\w./*-]+\.(?:py|sql|md))`", text))
        assert named or page == "adding-a-metric.md"
        for name in sorted(named):
            pattern = name.replace("ENGINE", "*")
            assert any(list(folder.glob(pattern)) for folder in (ROOT, source, source / "engines")), f"{page}: {name}"


def test_the_design_names_every_part_of_the_package():
    layers = (DOCS / "design.md").read_text(encoding="utf-8").partition("## Layers")[2].partition("Rules that")[0]
    source = ROOT / "src" / "openslob"
    folders = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in source.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"^\| `(\w+)/` \|", layers, re.MULTILINE)) == folders
    assert set(re.findall(r"`(\w+\.py)`", layers)) == modules


def test_messages_of_the_troubleshooting_page_are_messages_of_the_program():
    """The first column quotes parts of messages; those of servers are their own."""
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    first_cells = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    quoted = {part for cell in first_cells for part in re.findall(r"`([^`]+)`", cell)}
    of_servers = {"no password supplied", "Access denied"}
    files = [*(ROOT / "src").rglob("*.py"), ROOT / "scripts" / "bootstrap"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    names = {"mode", "--mode pio", "slob run", *(verdict.__name__ for verdict in VERDICTS)}
    assert {text for text in quoted - of_servers - names if text not in source} == set()
