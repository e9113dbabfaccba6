"""The documentation as a site: it builds without a warning, and no page asks anything of a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from factories.browser import CHROMIUM, tab
from factories.paths import ROOT

# To build it takes as long as fifty tests; tests/unit/project/test_docs.py looks at the links of the pages themselves.
pytestmark = pytest.mark.nightly
# Attributes with which a page loads something by itself; the `href` of a plain link is for the reader to follow.
LOADS = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "srcset", "object": "data"}
# The search is a part of the page with a tree of its own.
ROOM = "[...document.querySelectorAll('*')].find(each => each.shadowRoot).shadowRoot"
FOUND = f"[...{ROOM}.querySelectorAll('a')].map(each => each.textContent).join('; ')"
# Links of the head that name this page or its neighbours and load nothing.
NAMES_ONLY = {"canonical", "prev", "next"}


class Page(HTMLParser):
    """What a page loads, its links and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if (url := given.get(LOADS.get(tag, ""))) and given.get("rel") not in NAMES_ONLY:
            self.loads.append(url)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The pages of the site by their place in it."""
    pytest.importorskip("zensical", reason="the documentation's tools are in the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    made, built = build(folder)
    assert made.returncode == 0, made.stderr
    assert built.returncode == 0, built.stdout + built.stderr
    root = folder / "site"
    return {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}


def build(folder, spoil=lambda docs: None):
    """Gather the pages and build the site of them, as `make docs` does; ``spoil`` is called in between."""
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "site_pages.py", folder], check=False, capture_output=True, text=True
    )
    spoil(folder / "docs")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", folder / "mkdocs.yml"]
    return made, subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="session")
def pages(site):
    return {name: Page(path.read_text(encoding="utf-8")) for name, path in site.items() if name.endswith(".html")}


def test_the_site_has_its_parts(pages):
    expected = {"index.html", "tutorials/dba.html", "reference/commands.html", "reference/verdicts.html"}
    assert expected <= set(pages)


def test_no_page_reaches_for_the_network(site, pages):
    asked = {name: [url for url in page.loads if re.match(r"(?:[a-z]+:)?//", url)] for name, page in pages.items()}
    assert {name: urls for name, urls in asked.items() if urls} == {}
    styles = {name: path.read_text(encoding="utf-8") for name, path in site.items() if name.endswith(".css")}
    assert [name for name, text in styles.items() if re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text)] == []


def test_links_and_anchors_of_the_site_exist(site, pages):
    inside = {name: page for name, page in pages.items() if name != "404.html"}  # a server's page, linked from its root
    broken = [
        f"{name}: {link}" for name, page in inside.items() for link in page.links if not leads(name, link, site, pages)
    ]
    assert broken == []


def leads(name, link, site, pages):
    """Whether a link of a page leads to something; those of other sites are not followed."""
    if re.match(r"[a-z]+:", link):
        return True
    path, _, anchor = link.partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name  # noqa: PTH118, PTH120
    there = "index.html" if there == "." else there
    return there in site and (not anchor or there not in pages or anchor in pages[there].anchors)


@pytest.mark.parametrize("link", ["nowhere.md", "glossary.md#nowhere"])
def test_a_link_that_leads_nowhere_fails_the_build(link, tmp_path):
    pytest.importorskip("zensical", reason="the documentation's tools are in the extra `docs`")

    def spoil(docs):
        (docs / "faq.md").write_text(f"# FAQ\n\n[A link]({link})\n", encoding="utf-8")

    _, built = build(tmp_path, spoil)
    assert built.returncode != 0
    assert "faq.md" in built.stdout + built.stderr


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
def test_the_search_works_from_a_folder_without_a_server(site):
    with tab() as page:
        page.open(site["index.html"].as_uri())
        page.until(f"document.readyState === 'complete' && {ROOM}.querySelector('input') !== null")
        page.ask("document.querySelector('.md-search__button').click()")
        page.until(f"({ROOM}.querySelector('input').focus(), {ROOM}.activeElement !== null)")
        for letter in "kleinrock":
            page.press(letter)
        page.until(f"{FOUND}.toLowerCase().includes('kleinrock')")
        assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
