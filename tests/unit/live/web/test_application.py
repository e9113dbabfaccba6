"""Who is let in, and what is answered: tokens, hosts, methods, headers, and the figures for Prometheus."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from factories.live import run_folder
from factories.views import HEAD, NOW, P99_US, MadeSource
from openslob.core.errors import SlobError
from openslob.live.web.application import HEADERS, REPORT_HEADERS, Guarded, application
from openslob.live.web.catalogue import Catalogue
from openslob.live.web.door import Door
from openslob.live.web.shown import AllRecords, OneRecord, Shown
from openslob.live.web.where import Where

TOKEN, PORT = "a-token-of-this-test", 8123
HOST = f"127.0.0.1:{PORT}"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PATHS = ("/", "/page.js", "/style.css", "/vega.js", "/live", "/records.js", "/events", "/metrics", "/nothing")


class Client:
    """Asks the application, and keeps its cookies as a browser does."""

    def __init__(self, source: type[MadeSource] = MadeSource, names: Sequence[str] = ()) -> None:
        self._source = source
        self._names = names
        self._cookies = httpx.Cookies()

    def shown(self) -> Shown:
        return OneRecord(self._source())

    def request(self, method: str, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return asyncio.run(self._asked(method, path, headers or {}))

    async def _asked(self, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        hosts = Where.parse(PORT, None, self._names).hosts(PORT)
        app = application(self.shown(), Guarded(TOKEN, PORT, hosts, Door(50, 100)))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url=f"http://{HOST}", cookies=self._cookies
        ) as client:
            answer = await client.request(method, path, headers=headers)
            self._cookies = client.cookies
        return answer

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.request("GET", path, headers)


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", ["", "?token=", "?token=wrong", f"?token={TOKEN}x", "?token=%C3%A9", "?nothing"])
def test_nothing_is_answered_without_the_token(client: Client, path: str, given: str) -> None:
    answer = client.get(path + given)
    assert answer.status_code == 403
    assert answer.text == "Open the address that slob printed: its token is missing here, or wrong.\n"
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_a_wrong_bearer_is_refused(client: Client, header: str) -> None:
    assert client.get("/metrics", headers={"Authorization": header}).status_code == 403


def test_the_address_with_the_token_sets_a_cookie_that_opens_the_rest(client: Client) -> None:
    first = client.get(f"/?token={TOKEN}")
    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"openslob_{PORT}={TOKEN};")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    # The client keeps the cookie, as a browser does.
    assert client.get("/page.js").status_code == 200
    assert client.get("/metrics").status_code == 200


def test_a_damaged_cookie_is_no_token(client: Client) -> None:
    for cookie in (f"openslob_{PORT}=wrong", f"openslob_{PORT + 1}={TOKEN}", "\x00;;==", f"openslob_{PORT}"):
        assert client.get("/", headers={"Cookie": cookie}).status_code == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.evil.example:{PORT}",
     f"0.0.0.0:{PORT}", "", f"{HOST}@evil.example", f"evil.example#{HOST}"],
)  # fmt: skip
def test_another_host_name_is_refused_even_with_the_token(client: Client, host: str) -> None:
    answer = client.get("/metrics", headers={**BEARER, "Host": host})
    assert answer.status_code == 421
    assert "slob" not in answer.text
    assert f"localhost:{PORT}" in answer.text


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}", f"LocalHost:{PORT}"])
def test_the_names_of_the_loopback_are_answered(client: Client, host: str) -> None:
    assert client.get("/metrics", headers={**BEARER, "Host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "SLOB"])
@pytest.mark.parametrize("path", ["/", "/events", "/metrics"])
def test_only_reading_is_answered(client: Client, method: str, path: str) -> None:
    answer = client.request(method, path, headers=BEARER)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", PATHS)
def test_head_is_answered_without_a_body(client: Client, path: str) -> None:
    answer = client.request("HEAD", path, headers=BEARER)
    assert answer.status_code == (404 if path == "/nothing" else 200)
    assert answer.content == b""


@pytest.mark.parametrize("path", [*PATHS[:3], "/metrics", "/nothing"])
def test_every_answer_says_what_browsers_must_not_do(client: Client, path: str) -> None:
    for answer in (client.get(path, headers=BEARER), client.get(path), client.request("POST", path)):
        assert {name.lower(): answer.headers[name] for name in HEADERS} == {k.lower(): v for k, v in HEADERS.items()}
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert "unsafe-eval" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("asked", ["at=-1", "at=x", "at=nan", "at=1&speed=inf", "span=1e99", "at="])
def test_a_moment_that_is_none_is_refused(client: Client, asked: str) -> None:
    answer = client.get(f"/events?{asked}", headers=BEARER)
    assert answer.status_code == 400
    assert answer.text.count("\n") == 1


def test_a_moment_of_a_replay_is_sent_whole_and_ends(client: Client) -> None:
    answer = client.get("/events?at=20", headers=BEARER)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith('data: {"whole":true,"head":')
    assert '"ended":true' in answer.text


def test_prometheus_reads_the_figures_of_now(client: Client) -> None:
    answer = client.get("/metrics", headers=BEARER)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    own = (("id", HEAD.id), ("name", HEAD.name))
    assert samples["openslob_pio_read_per_s", own] == NOW["pio_read_per_s"].value
    assert samples["openslob_running", own] == 1
    assert (
        samples["openslob_operation_latency_us", (own[0], ("kind", "select"), own[1], ("statistic", "p99"))] == P99_US
    )
    assert samples["openslob_verdict_holds", (*own, ("verdict", "quiet_machine"))] == 0
    # What is not known has no sample: 0 would be a lie.
    assert not [name for name, _ in samples if name == "openslob_redo_mb_per_s"]
    assert not [labels for _, labels in samples if ("verdict", "mode") in labels]
    assert not any(
        sample.timestamp for family in text_string_to_metric_families(answer.text) for sample in family.samples
    )


def test_openmetrics_is_sent_to_those_who_ask_for_it(client: Client) -> None:
    asked = {**BEARER, "Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}
    answer = client.get("/metrics", headers=asked)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


def test_a_record_that_cannot_be_read_is_told_in_one_line() -> None:
    class Gone(MadeSource):
        def poll(self) -> bool:
            raise SlobError("run.json can't be read: it was removed")

    client = Client(Gone)
    answer = client.get("/metrics", headers=BEARER)
    assert (answer.status_code, answer.text) == (503, "run.json can't be read: it was removed\n")
    assert '"trouble":"run.json can\'t be read: it was removed"' in client.get("/events?at=1", headers=BEARER).text


class ClientOfAll(Client):
    """Asks the application that shows all records of a folder; reports are made by ``make``."""

    def __init__(self, results: Path) -> None:
        super().__init__()
        self._results = results

    def shown(self) -> Shown:
        return AllRecords(Catalogue(self._results), self.make)

    def make(self, records: Sequence[str]) -> str:
        if len(records) > 1:
            raise SlobError("they have no page together")
        return f"the report of {', '.join(records)}"


@pytest.fixture
def all_records(tmp_path: Path) -> ClientOfAll:
    for at, name in enumerate(("first", "second")):
        run_folder(tmp_path / "results" / f"20260301-10111{at}-{name}", 3)
    run_folder(tmp_path / "secret", 3)
    return ClientOfAll(tmp_path / "results")


def test_the_list_and_what_it_opens_need_the_token(all_records: ClientOfAll) -> None:
    ids = [row["id"] for row in all_records.get("/records", headers=BEARER).json()["rows"]]
    assert len(ids) == 2
    for path in (
        "/",
        "/records",
        f"/report?record={ids[0]}",
        f"/events?record={ids[0]}&at=0",
        f"/live?record={ids[0]}",
    ):
        assert all_records.get(path).status_code == 403, path
        assert all_records.get(path, headers=BEARER).status_code == 200, path


def test_a_report_is_shown_without_the_rights_of_the_list(all_records: ClientOfAll) -> None:
    [first, second] = [row["id"] for row in all_records.get("/records", headers=BEARER).json()["rows"]]
    answer = all_records.get(f"/report?record={first}", headers=BEARER)
    assert answer.text == f"the report of {first}"
    policy = answer.headers["content-security-policy"]
    assert policy == REPORT_HEADERS["Content-Security-Policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    both = all_records.get(f"/report?record={first}&record={second}", headers=BEARER)
    assert (both.status_code, both.text) == (422, "they have no page together\n")
    for wrong in ("", "record=", f"record={first}&record={second}&record={first}"):
        assert all_records.get(f"/report?{wrong}", headers=BEARER).status_code in (400, 404)


@pytest.mark.parametrize("record", ["../secret", "%2e%2e/secret", "..", ".", "/etc", "nothing", "latest", "%00", "a,b"])
@pytest.mark.parametrize("path", ["/report", "/events", "/metrics"])
def test_only_records_of_the_folder_are_opened(all_records: ClientOfAll, path: str, record: str) -> None:
    answer = all_records.get(f"{path}?record={record}", headers=BEARER)
    assert (answer.status_code, answer.text) == (404, "There is no such record here.\n")


def test_prometheus_gets_the_latest_record_of_all(all_records: ClientOfAll) -> None:
    rows = all_records.get("/records", headers=BEARER).json()["rows"]
    assert f'id="{rows[0]["id"]}"' in all_records.get("/metrics", headers=BEARER).text


def test_a_page_of_one_record_has_no_list(client: Client) -> None:
    for path in ("/records", "/report?record=x", "/events?record=x"):
        assert client.get(path, headers=BEARER).status_code == 404


@pytest.mark.parametrize(
    ("name", "host", "secure"),
    [("https://slob.example", "slob.example", True), ("db1", f"db1:{PORT}", False), ("db1:99", "DB1:99", False)],
)
def test_a_name_that_was_given_is_answered_and_its_cookie_is_as_secure_as_it(
    name: str, host: str, secure: bool
) -> None:
    client = Client(names=[name])
    answer = client.get(f"/?token={TOKEN}", headers={"Host": host})
    assert answer.status_code == 200
    assert ("Secure" in answer.headers["set-cookie"]) is secure
    assert client.get("/metrics", headers={**BEARER, "Host": "another.example"}).status_code == 421


def test_the_list_of_records_waits_for_nothing_that_draws() -> None:
    modules = "openslob.live.web." + ", openslob.live.web.".join(("application", "catalogue", "server", "shown"))
    code = f"import sys, {modules}; print([name for name in ('altair', 'vl_convert', 'jinja2') if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
