"""The documentation as a site: it builds without a warning, and no page asks anything of a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from factories.paths import ROOT

# To build it takes as long as fifty tests; tests/unit/project/test_docs.py looks at the links of the pages themselves.
pytestmark = pytest.mark.nightly
# Attributes with which a page loads something by itself; the `href` of a plain link is for the reader to follow.
LOADS = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "srcset", "object": "data"}
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
    pytest.importorskip("mkdocs", reason="the documentation's tools are in the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        check=False, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


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


def test_the_site_has_search_without_a_server(site):
    assert {"search/search_index.js", "assets/iframe-worker.js"} <= set(site)
