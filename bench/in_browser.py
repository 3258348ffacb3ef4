"""Pages in a headless Chromium: when they can be used, and what scrolling costs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

QUIET: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
FRAMES: Final = 240

# The first screen can be used once its table has rows and the browser has nothing else to do.
_READY: Final = """
const done = arguments[0];
const look = () => {
  if (!document.querySelector('.row')) { setTimeout(look, 5); return; }
  requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0));
};
look();
"""
_SCROLL: Final = f"""
const done = arguments[0];
const tasks = [];
const watch = (list) => {{ for (const one of list.getEntries()) tasks.push(one.duration); }};
new PerformanceObserver(watch).observe({{type: 'longtask'}});
const scroll = document.querySelector('.scroll');
let frame = 0;
const step = () => {{
  scroll.scrollTop += frame % 40 === 39 ? 40000 : 300;
  if (++frame < {FRAMES}) requestAnimationFrame(step);
  else setTimeout(() => done([Math.max(0, ...tasks), document.querySelectorAll('.row').length]), 300);
}};
requestAnimationFrame(step);
"""


class Missing(Exception):
    """There is no browser, or nothing to drive it with."""


class Seen(NamedTuple):
    """What was measured, in milliseconds."""

    interactive: float
    longest_task: float
    """0 where none took 50 ms."""
    frame: float
    """Processor time of the page's thread."""
    rows: float


def in_browser(page: str, rounds: int) -> Seen:
    """Open pages and scroll the table of all sessions."""
    browser = _browser()
    try:
        address = Path(page).resolve().as_uri()
        ready = [_open(browser, f"{address}#/?period=all&round={number}") for number in range(rounds + 1)]
        browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        found = [_scroll(browser) for _ in range(rounds)]
        return Seen(median(ready[1:]), *(median(column) for column in zip(*found, strict=True)))
    finally:
        browser.quit()


def _browser() -> Any:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise Missing("chromium and chromedriver are not installed")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise Missing("selenium is not installed") from None
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*QUIET, f"--user-data-dir={tempfile.mkdtemp(prefix='bench-browser-')}", "--window-size=1440,900"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(driver))


def _open(browser: Any, address: str) -> float:
    browser.get("about:blank")
    browser.get(address)
    return float(browser.execute_async_script(_READY))


def _scroll(browser: Any) -> tuple[float, float, float]:
    before = _busy(browser)
    longest, rows = browser.execute_async_script(_SCROLL)
    return float(longest), (_busy(browser) - before) / FRAMES * 1000, float(rows)


def _busy(browser: Any) -> float:
    told = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(float(one["value"]) for one in told if one["name"] == "TaskDuration")
