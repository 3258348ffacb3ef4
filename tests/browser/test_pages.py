"""What a person sees and does: every view in a real browser, from a file and live, and no error or stray request."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cli_support import AGENTS, ALL, FIX, Retro, retro, root, swept
from retro.dashboard.packing import unpacked
from support import STAMP, answer, call, lines, prompt, result, sweep_up, transcript

__all__ = ["retro", "root", "swept"]

VIEWS = {
    "overview": "#/",
    "overview, all": "#/?period=all&by=project&metric=turns",
    "cost": "#/cost?period=all",
    "signals": "#/signals",
    "patterns": "#/patterns",
    "a pattern": "#/patterns?kind=problem",
    "a signal": "#/signals/tokens",
    "day": "#/day/2026-11-16",
    "a day without": "#/day/2020-01-01",
    "memory": "#/memory",
    "memories to look at": "#/memory?status=needs_review",
    "search": "#/search?q=tide",
    "measure": "#/measure",
    "capture": "#/capture",
    "summary": f"#/session/claude/{FIX}",
    "transcript": f"#/session/claude/{AGENTS}/transcript",
    "changes": f"#/session/claude/{FIX}/transcript?show=changes",
    "models": f"#/session/claude/{FIX}/models",
    "session signals": f"#/session/claude/{FIX}/signals",
    "session memory": f"#/session/claude/{FIX}/memory",
    "no such page": "#/nowhere",
    "no such session": "#/session/claude/nothing",
}
HOSTILE = '</script><img src=x onerror="window.hacked=1"><a href="javascript:window.hacked=1">x</a>\u202e'


class Pages:
    """A site in the browser."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser = browser
        self.address = address
        browser.get_log("browser")
        browser.get_log("performance")
        browser.set_window_size(1440, 900)
        browser.get("about:blank")

    def open(self, place: str = "#/") -> Pages:
        """Go to a view, as if its address had been typed."""
        self.browser.get("about:blank")
        self.browser.get(self.address + place)
        self.wait("return !document.querySelector('main').innerText.includes('Loading …')")
        return self

    def wait(self, script: str) -> Any:
        """Wait until a script gives something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.browser, 20).until(lambda driver: driver.execute_script(script))

    def run(self, script: str, *given: object) -> Any:
        """Run a script in the page."""
        return self.browser.execute_script(script, *given)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def titles(self) -> list[str]:
        """What the table shows, in its order."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll('.row')].sort((a, b) => a.getAttribute('aria-rowindex')"
            " - b.getAttribute('aria-rowindex')).map((row) => row.querySelector('.title').textContent)"
        )
        return found

    def complaints(self) -> list[str]:
        """What the console says."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] != "DEBUG"]

    def requests(self) -> set[str]:
        """The addresses that were asked for."""
        found = set()
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.add(message["params"]["request"]["url"])
        return found


_built: list[Path] = []


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    """The demo's pages on the disk, with memories, patterns and an experiment; built once, and only looked at."""
    if not _built:
        swept: Retro = request.getfixturevalue("swept")
        out: Path = request.getfixturevalue("tmp_path") / "pages"
        swept.says("detect", "--min-frequency", "2")
        swept.says("memory", "init")
        first, *_ = swept.json("memory", "list")["memories"]
        swept.says("memory", "accept", first["item"]["id"])
        swept.says("memory", "update-utility", first["item"]["id"], "--reward", "1")
        swept.says("measure", "start", "--endpoint", "turns")
        swept.says("dashboard", "build", "--out", str(out), "--timezone", "UTC")
        _built.append(out)
    return _built[0]


@pytest.fixture
def site(folder: Path) -> str:
    """Its address."""
    return (folder / "index.html").as_uri()


@pytest.fixture
def pages(site: str, browser: Any) -> Pages:
    """They in the browser."""
    return Pages(browser, site)


# --- every view ------------------------------------------------------------------------------------------------------


def test_every_view_is_there_without_an_error_or_a_request_off_the_page(pages: Pages, site: str) -> None:
    folder = site.removesuffix("index.html")
    for name, place in VIEWS.items():
        pages.open(place)
        assert len(pages.run("return document.querySelector('main').textContent")) > 20, name
        allowed = [] if name != "no such session" else ["nothing.js"]
        said = [one for one in pages.complaints() if not any(word in one for word in allowed)]
        assert said == [], name
        strays = {
            one
            for one in pages.requests()
            if not one.startswith((folder, "about:", "data:", "chrome:", "chrome-untrusted:"))
        }
        assert strays == set(), name


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(pages: Pages, axe: str, theme: str) -> None:
    for name, place in VIEWS.items():
        pages.open(place)
        pages.run("document.documentElement.dataset.theme = arguments[0]", theme)
        pages.run(axe)
        found = pages.browser.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then(done)"
        )
        serious = [
            (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], name


@pytest.mark.parametrize("width", [375, 768, 1440, 2560])
def test_no_view_is_wider_than_its_window(pages: Pages, width: int) -> None:
    for name, place in VIEWS.items():
        pages.open(place)
        pages.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        try:
            wide = pages.run("return document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, name
        finally:
            pages.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_sessions_are_within_reach_without_scrolling(pages: Pages) -> None:
    pages.open()
    assert pages.run("return document.querySelector('.row').getBoundingClientRect().bottom < innerHeight")


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_table_sorts_and_says_so(pages: Pages) -> None:
    pages.open("#/?period=all")
    assert len(pages.titles()) == len(ALL)
    pages.run("[...document.querySelectorAll('.head button')].find((one) => one.textContent === 'Cost').click()")
    costs = pages.run("return [...document.querySelectorAll('.row .cost')].map((one) => one.textContent)")
    values = [float(re.sub(r"[^\d.]", "", cost) or 0) for cost in costs]
    assert values == sorted(values, reverse=True)
    assert pages.run("return document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"
    assert "sort=-cost" in pages.browser.current_url


def test_the_table_is_searched_and_filtered_and_the_address_keeps_it(pages: Pages) -> None:
    pages.open("#/?period=all")
    pages.press("/", *"rain")
    pages.wait("return document.querySelectorAll('.row').length === 1")
    assert "raining" in pages.titles()[0] or "Rain" in pages.titles()[0]
    address = pages.browser.current_url
    assert "q=rain" in address
    pages.browser.get("about:blank")
    pages.browser.get(address)
    pages.wait("return document.querySelectorAll('.row').length === 1")
    pages.run(
        "const pick = document.querySelector('select[aria-label=Project]');"
        "pick.value = 'tidebook'; pick.dispatchEvent(new Event('change'))"
    )
    pages.wait("return document.querySelectorAll('.row').length === 0")


def test_every_filter_narrows_the_table_and_stands_in_the_address(pages: Pages) -> None:
    pages.open("#/?period=all")
    choose = (
        "const pick = document.querySelector(`select[aria-label=${arguments[0]}]`);"
        "pick.value = arguments[1]; pick.dispatchEvent(new Event('change'))"
    )
    pages.run("document.querySelector('.grid button[aria-expanded]').click()")
    pages.wait("return document.querySelectorAll('select[aria-label=Branch] option').length > 1")
    branch = pages.run("return document.querySelectorAll('select[aria-label=Branch] option')[1].value")
    pages.run(choose, "Branch", branch)
    pages.wait("return [...document.querySelectorAll('.row')].length > 0")
    shown = pages.run("return [...document.querySelectorAll('.row span:nth-child(5)')].map((one) => one.textContent)")
    assert set(shown) == {branch}
    assert "branch=" in pages.browser.current_url
    pages.run(choose, "Branch", "")
    pages.run(choose, "Cost", "0.1")
    costs = pages.run("return [...document.querySelectorAll('.row .cost')].map((one) => one.textContent)")
    assert costs
    assert all(float(re.sub(r"[^\d.]", "", cost)) >= 0.1 for cost in costs)
    pages.open("#/?from=2026-11-16&to=2026-11-16")
    days = pages.run("return [...document.querySelectorAll('.row span:first-child')].map((one) => one.title)")
    assert days
    assert all(day.startswith("2026-11-16") for day in days)
    for place, few in (("#/?period=all&outcome=e", True), ("#/?period=all&cost=none", False), ("#/?period=all", False)):
        pages.open(place)
        assert (0 < len(pages.titles()) < len(ALL)) is few or not few


def test_a_bar_of_the_chart_opens_its_day_and_back_comes_back(pages: Pages) -> None:
    pages.open("#/?period=all&project=tidebook")
    from selenium.webdriver.common.action_chains import ActionChains

    over = pages.run("return document.querySelector('.chart .u-over')")
    ActionChains(pages.browser).move_to_element(over).click().perform()
    pages.wait("return location.hash.startsWith('#/day/')")
    assert "project=tidebook" in pages.browser.current_url
    pages.browser.back()
    pages.wait("return location.hash.startsWith('#/?') && document.querySelectorAll('.row').length > 0")


def test_a_day_adds_up_to_what_the_report_says(pages: Pages, folder: Path) -> None:
    shown = json.loads(unpacked((folder / "data" / "overview.js").read_bytes()))["days"]
    day = shown["day"][shown["cost"].index(max(shown["cost"]))]
    total = sum(cost for at, cost in zip(shown["day"], shown["cost"], strict=True) if at == day)
    pages.open(f"#/day/{date(1970, 1, 1) + timedelta(days=day)}")
    said = pages.run("return document.querySelector('.kpi dd').textContent")
    assert float(re.sub(r"[^\d.]", "", said)) == pytest.approx(total / 1e6, abs=0.005)
    parts = pages.run("return [...document.querySelectorAll('td b')].map((one) => one.textContent)")
    assert sum(float(re.sub(r"[^\d.]", "", one)) for one in parts) == pytest.approx(total / 1e6, abs=0.005 * len(parts))


def test_times_are_those_of_the_viewer_with_utc_behind_them(pages: Pages) -> None:
    first = "return document.querySelector('.row span').textContent"
    behind = "return document.querySelector('.row span').title"
    said = {}
    for zone in ("UTC", "Asia/Kathmandu"):
        pages.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})
        try:
            pages.open("#/?period=all")
            said[zone] = (pages.run(first)[-2:], pages.run(behind))
        finally:
            pages.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert said["UTC"][1] == said["Asia/Kathmandu"][1]
    assert said["UTC"][1].endswith("UTC")
    assert (int(said["Asia/Kathmandu"][0]) - int(said["UTC"][0])) % 60 == 45


def test_printed_pages_have_no_controls(pages: Pages) -> None:
    pages.open(f"#/session/claude/{FIX}")
    pages.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        seen = pages.run("return ['.top', '.tabs', 'h1'].map((one) => document.querySelector(one).offsetHeight > 0)")
        assert seen == [False, False, True]
    finally:
        pages.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_keyboard_does_it_all(pages: Pages) -> None:
    from selenium.webdriver.common.keys import Keys

    pages.open("#/?period=all")
    pages.press("/", Keys.ARROW_DOWN)
    assert pages.run("return document.activeElement.getAttribute('role')") == "grid"
    second = pages.titles()[1]
    pages.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    pages.wait("return location.hash.startsWith('#/session/')")
    pages.wait(
        "return document.querySelector('h1')?.textContent === arguments[0]".replace("arguments[0]", json.dumps(second))
    )
    pages.browser.back()
    pages.wait("return location.hash.startsWith('#/?') && document.querySelectorAll('.row').length > 1")
    pages.press(Keys.TAB)
    assert pages.run("return document.activeElement !== document.body")


# --- a session -------------------------------------------------------------------------------------------------------


def test_a_turn_leads_to_its_place_in_the_transcript(pages: Pages) -> None:
    pages.open(f"#/session/claude/{FIX}")
    pages.run("document.querySelectorAll('.turns a')[1].click()")
    pages.wait("return document.querySelector('.entry.target')")
    assert "thanks!" in pages.run("return document.querySelector('.entry.target').textContent")
    assert "event=" in pages.browser.current_url


def test_a_transcript_shows_prompts_answers_changes_and_what_sub_agents_did(pages: Pages) -> None:
    pages.open(f"#/session/claude/{FIX}/transcript")
    pages.wait("return document.querySelector('.entry.prompt')")
    text = pages.run("return document.querySelector('.transcript').textContent")
    assert "test_the_last_tide_belongs_to_its_day is red" in text
    assert pages.run("return document.querySelectorAll('.diff .a').length") > 0
    assert pages.run("return document.querySelectorAll('.entry.failed').length") > 0
    pages.open(f"#/session/claude/{AGENTS}/transcript")
    pages.wait("return document.querySelector('.agent-group .entry')")


def test_what_was_changed_is_shown_alone_and_by_file(pages: Pages) -> None:
    pages.open(f"#/session/claude/{FIX}")
    pages.run("document.querySelector('.lists a.mono').click()")
    pages.wait("return document.querySelector('.entry.call')")
    assert "show=changes" in pages.browser.current_url
    kinds = pages.run("return [...document.querySelectorAll('.entry summary b')].map((one) => one.textContent)")
    assert set(kinds) == {"edited"}
    assert pages.run("return document.querySelectorAll('.diff .a').length") > 0


def test_a_search_within_a_transcript_marks_what_it_finds(pages: Pages) -> None:
    pages.open(f"#/session/claude/{FIX}/transcript")
    pages.wait("return document.querySelector('.entry.prompt')")
    pages.run(
        "const box = document.querySelector('.transcript input');"
        "box.value = 'changelog'; box.dispatchEvent(new Event('input'))"
    )
    pages.wait("return document.querySelectorAll('.entry.hit').length > 0")


def test_the_receipt_adds_up_on_the_page(pages: Pages, swept: Retro) -> None:
    pages.open(f"#/session/claude/{FIX}/models")
    cells = pages.run(
        "return [...document.querySelectorAll('section:nth-of-type(2) td:nth-child(8)')].map((one) => one.textContent)"
    )
    together = sum(round(float(cell.strip("$")) * 1e6) for cell in cells)
    (session,) = [one for one in swept.json("cost", "session")["sessions"] if one["sessionId"] == FIX]
    assert together == session["totalMicrodollars"]


# --- themes, state, words that would be markup ------------------------------------------------------------------------


def test_the_theme_follows_the_system_until_one_is_chosen(pages: Pages) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    pages.open()
    light = pages.run(background)
    feature = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    pages.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    try:
        dark = pages.run(background)
        assert dark != light
        pages.run("document.querySelector('button[title=\"Light or dark\"]').click()")
        assert pages.run(background) == light
    finally:
        pages.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        pages.run("localStorage.clear()")


def test_hostile_words_run_nowhere(retro: Retro, root: Path, tmp_path: Path, browser: Any) -> None:
    told = lines(
        prompt(HOSTILE, 1, cwd=f"/tmp/{HOSTILE[:30]}", gitBranch=HOSTILE),
        answer(f"# {HOSTILE}\n\n```\n{HOSTILE}\n```\n- {HOSTILE}\n`{HOSTILE}` **{HOSTILE}**", 2),
        call("Bash", {"command": HOSTILE, "description": HOSTILE}, 3),
        result(HOSTILE + "x" * 1_000_000, 4),
        call("Edit", {"file_path": f"/x/{HOSTILE}", "old_string": HOSTILE, "new_string": f"+{HOSTILE}"}, 5),
        {"type": "custom-title", "sessionId": "x", "customTitle": HOSTILE},
        {**answer("hm", 6), "message": {**answer("hm", 6)["message"], "model": HOSTILE}},  # type: ignore[dict-item]
    )
    transcript(tmp_path / "home", told)
    sweep_up(root, tmp_path / "home")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "hostile.md").write_text(f"---\ntitle: '{HOSTILE}'\n---\n{HOSTILE}\n", "utf-8")
    retro.says("memory", "import-authored", str(tmp_path / "notes"))
    retro.says("detect", "--min-frequency", "1")
    retro.says("dashboard", "build", "--out", str(tmp_path / "pages"), "--timezone", "UTC")
    pages = Pages(browser, (tmp_path / "pages" / "index.html").as_uri())
    (session_id,) = [one["session_id"] for one in retro.json("list")["sessions"]]
    everywhere = ("#/?period=all&by=model", "#/cost?period=all", "#/capture", "#/memory", "#/patterns", "#/signals")
    for place in (*everywhere, f"#/day/{STAMP[:10]}", "#/search?q=" + quote(HOSTILE), *_of(session_id)):
        pages.open(place)
        pages.run("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        pages.run("document.querySelectorAll('a').forEach((one) => { if (!one.hash) one.click() })")
        assert pages.run("return window.hacked") is None, place
        assert pages.run("return document.querySelectorAll('img, iframe, main script').length") == 0, place
        hrefs = pages.run("return [...document.querySelectorAll('main a')].map((one) => one.getAttribute('href'))")
        assert all(href is None or href.startswith("#") for href in hrefs), place
    assert pages.complaints() == []


def _of(session_id: str) -> Iterator[str]:
    for tab in ("", "/transcript", "/models", "/signals", "/memory"):
        yield f"#/session/claude/{session_id}{tab}"


def test_a_script_in_the_page_itself_is_forbidden(pages: Pages) -> None:
    pages.open()
    pages.run(
        "const one = document.createElement('script'); one.textContent = 'window.hacked = 1';"
        "document.head.append(one);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked=1\">')"
    )
    assert pages.run("return window.hacked") is None
    assert any("Content Security Policy" in said for said in pages.complaints())


def test_missing_and_empty_data_look_intentional(browser: Any, folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "copied")
    pages = Pages(browser, (copied / "index.html").as_uri())
    (copied / "data" / "transcript" / "claude" / FIX / "0.js").unlink()
    pages.open(f"#/session/claude/{FIX}/transcript")
    pages.wait("return document.querySelector('main').textContent.includes('missing')")
    for name in ("memory", "patterns", "signals", "measure"):
        (copied / "data" / f"{name}.js").unlink()
        pages.open(f"#/{name}")
        pages.wait("return document.querySelector('main').textContent.includes('retro dashboard build')")
    (copied / "data" / "overview.js").unlink()
    pages.open("#/")
    pages.wait("return document.querySelector('main').textContent.includes('retro dashboard build')")


# --- live ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def live(swept: Retro, root: Path, browser: Any) -> Iterator[Pages]:
    """The same pages from a server of our own."""
    pytest.importorskip("starlette", reason="the extra serve is not installed")
    from retro import config
    from retro.dashboard.overview import Choice
    from retro.dashboard.serve import serve
    from retro.ledger import calendar
    from retro.places import Places

    server = serve(Places(str(root)), config.load(None, {}), {}, Choice(calendar.zone("UTC")), 0, False)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Pages(browser, server.address)
    finally:
        browser.get("about:blank")
        server.stop()
        thread.join()


def test_live_every_view_is_there_and_new_sessions_appear(live: Pages, swept: Retro, demo_home: Path) -> None:
    for name, place in VIEWS.items():
        live.open(place)
        said = [one for one in live.complaints() if "nothing.js" not in one]
        assert said == [], name
    live.open("#/?period=all")
    live.wait("return document.querySelector('.live')?.textContent === 'live'")
    (file,) = demo_home.rglob(f"{FIX}.jsonl")
    told = lines(prompt("a session that was not there before", 1, sessionId="0000aaaa-1111-4222-8333-444455556666"))
    (file.parent / "0000aaaa-1111-4222-8333-444455556666.jsonl").write_bytes(told)
    swept.says("sweep")
    live.wait(
        "return [...document.querySelectorAll('.row .title')]"
        ".some((one) => one.textContent.startsWith('a session that was not'))"
    )


def test_live_a_search_asks_the_index_and_leads_to_the_event(live: Pages) -> None:
    live.open("#/search?q=" + quote('tide "last"'))
    live.wait("return document.querySelectorAll('main mark').length > 0")
    assert live.complaints() == []
    live.run("document.querySelector('main .pattern a').click()")
    live.wait("return document.querySelector('.entry.target')")
    live.open("#/search?q=" + quote("zzzqqq"))
    live.wait("return document.querySelector('main').textContent.includes('Nothing fits')")
