"""The web UI and the HTML report in a real browser: `browser.py COMMAND [FOLDER]`.

Prints the names of the checked views as JSON, or `{"skipped": reason}` without Chromium. Screenshots are written to FOLDER.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = sys.argv[1]
FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else None
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
]  # fmt: skip
WIDTHS = [390, 1280, 2560]

# Elements that are wider than the window, clipped text, and overlapping text.
FAULTS = """
const shown = element => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return style.visibility !== "hidden" && style.display !== "none" && box.width > 1 && box.height > 1 && element.checkVisibility();
};
const named = element => element.tagName.toLowerCase() + (element.id ? "#" + element.id : "") + (typeof element.className === "string" && element.className ? "." + element.className : "") + " " + JSON.stringify((element.textContent || "").trim().slice(0, 40));
const scrolls = element => { for (let one = element.parentElement; one && one !== document.body; one = one.parentElement) { const how = getComputedStyle(one).overflowX; if (how === "auto" || how === "scroll" || how === "hidden") return true; } return false; };
const faults = [];
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width + 1) faults.push("the page is " + document.documentElement.scrollWidth + " wide, the window " + width);
const texts = [];
for (const element of document.querySelectorAll("body *")) {
  if (element.closest("svg") || element.closest(".visually-hidden") || element.closest("#mirror") || element.closest("[aria-hidden=true]") || !shown(element)) continue;
  const box = element.getBoundingClientRect();
  if ((box.right > width + 1 || box.left < -1) && !scrolls(element)) faults.push("beyond the window: " + named(element));
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  if (own && !scrolls(element)) {
    const style = getComputedStyle(element);
    if (style.overflowX === "hidden" && element.scrollWidth > element.clientWidth + 1 && style.textOverflow !== "ellipsis") faults.push("clipped: " + named(element));
    const range = document.createRange();
    for (const node of element.childNodes) if (node.nodeType === 3 && node.textContent.trim()) {
      range.selectNodeContents(node);
      for (const part of range.getClientRects()) texts.push([element, part]);
    }
  }
}
for (let one = 0; one < texts.length; one++) for (let other = one + 1; other < texts.length; other++) {
  const [a, x] = texts[one], [b, y] = texts[other];
  if (a === b || a.contains(b) || b.contains(a)) continue;
  const across = Math.min(x.right, y.right) - Math.max(x.left, y.left), down = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
  if (across > 2 && down > 4) faults.push("overlapping: " + named(a) + " and " + named(b));
}
for (const svg of document.querySelectorAll(".chart svg, #plot svg")) {
  if (!shown(svg) || svg.closest("figure.wide")) continue;
  const room = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    if (box.left < room.left - 2 || box.right > room.right + 2 || box.top < room.top - 2 || box.bottom > room.bottom + 2) faults.push("outside of its plot: " + named(text));
  }
}
return faults.slice(0, 10);
"""


class Faults(Exception):
    """A failed check."""


def check(condition: object, fault: object) -> None:
    if not condition:
        raise Faults(fault)


@contextmanager
def served(*args: str) -> Iterator[str]:
    command = [COMMAND, "ui", "--no-open", *args]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        line = next(line for line in server.stderr if "token=" in line)
        yield line.split()[1]
    finally:
        server.terminate()
        check(server.wait(20) == 0, "the server ends cleanly")


def main() -> None:
    if CHROMIUM is None or DRIVER is None:
        print(json.dumps({"skipped": "no chromium with chromedriver"}))
        return
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        print(json.dumps({"skipped": "no selenium"}))
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # The report is written while the browser starts.
        report = Path(folder) / "store.html"
        writer = subprocess.Popen([COMMAND, "--sample", "report", "html", "-o", str(report)], stderr=subprocess.DEVNULL)
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in [*FLAGS, f"--user-data-dir={folder}/profile"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            looked = _web_ui(browser)
            check(writer.wait() == 0, "`tsql report html` writes a file")
            browser.get(report.as_uri())
            looked += _check_layout(browser, "report")
            _check_console(browser)
        finally:
            browser.quit()
    print(json.dumps({"looked": looked}))


def _wait(browser, what: str, condition: Callable[[], object], timeout_s: float = 30) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            _screenshot(browser, "failed")
            raise Faults(f"waited for: {what}; {_text(browser, '#status')!r} {_text(browser, '#error')!r}")
        time.sleep(0.05)


def _text(browser, selector: str) -> str:
    return browser.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)


def _cells(browser, column: int) -> list[str]:
    script = "return [...document.querySelectorAll('#rows tbody tr')].map(row => row.cells[arguments[0]].innerText)"
    return browser.execute_script(script, column)


def _click(browser, selector: str) -> None:
    from selenium.webdriver.common.by import By

    browser.find_element(By.CSS_SELECTOR, selector).click()


def _type(browser, sql: str, *keys: str) -> None:
    from selenium.webdriver.common.by import By

    box = browser.find_element(By.ID, "sql")
    box.clear()
    box.send_keys(sql, *keys)


def _run(browser, sql: str) -> None:
    """Types a query and runs it with the keyboard."""
    from selenium.webdriver.common.keys import Keys

    from selenium.webdriver.common.by import By

    _type(browser, sql)
    browser.find_element(By.ID, "sql").send_keys(Keys.CONTROL, Keys.ENTER)


def _check_console(browser) -> None:
    """Checks that the console has no new errors."""
    entries = [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    check(not entries, f"console: {entries}")


def _screenshot(browser, name: str) -> None:
    if FOLDER is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        browser.save_screenshot(str(FOLDER / f"{name}.png"))


def _set_window(browser, width: int, scheme: str) -> None:
    # `set_window_size` has a minimum width; device metrics have none.
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def _check_layout(browser, name: str, schemes: tuple[str, ...] = ("light", "dark")) -> list[str]:
    """Checks that nothing is clipped or overlaps, at all widths and in all themes."""
    looked = []
    for width in WIDTHS:
        for scheme in schemes:
            _set_window(browser, width, scheme)
            time.sleep(0.05)
            _screenshot(browser, f"{name}-{width}-{scheme}")
            faults = browser.execute_script(FAULTS)
            check(not faults, f"{name} at {width}, {scheme}: {faults}")
            looked.append(f"{name}-{width}-{scheme}")
    _set_window(browser, 1280, "light")
    return looked


def _web_ui(browser) -> list[str]:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select
    from selenium.webdriver.common.by import By

    looked = []
    with served("--sample") as url:
        _set_window(browser, 1280, "light")
        browser.get(url)
        ready = lambda: browser.execute_script("return document.documentElement.dataset.ready") == "1"  # noqa: E731
        _wait(browser, "the page", ready)
        check("token" not in browser.current_url, "the address shows no token")
        check(browser.title == "tsql · the sample", browser.title)
        check(browser.get_cookies() == [] or all(one["httpOnly"] for one in browser.get_cookies()), "no script reads the cookie")
        _wait(browser, "the row counts", lambda: "records" in _text(browser, "#live-status"))
        _wait(browser, "examples", lambda: browser.find_elements(By.CSS_SELECTOR, "#example-list button"))
        looked += _check_layout(browser, "start")

        # A million rows: pages, a row number, a sort order.
        _run(browser, "SELECT value AS n, 1000001 - value AS down FROM generate_series(1, 1000000) ORDER BY n")
        _wait(browser, "all rows", lambda: _text(browser, "#status").replace("\u202f", "").startswith("1000000 rows in"))
        _wait(browser, "the first rows", lambda: _cells(browser, 1)[:2] == ["1", "2"])
        check(len(_cells(browser, 1)) == 100, "a page has 100 rows")
        _click(browser, "#next")
        _wait(browser, "the next rows", lambda: _cells(browser, 1)[:1] == ["101"])
        _click(browser, "#last")
        _wait(browser, "the last rows", lambda: _cells(browser, 2)[-1:] == ["1"])
        check(_text(browser, "#range").replace("\u202f", "") == "rows 999901–1000000 of 1000000", _text(browser, "#range"))
        goto = browser.find_element(By.ID, "goto")
        goto.send_keys("500050", Keys.ENTER)
        _wait(browser, "a row by its number", lambda: "500050" in [text.replace("\u202f", "") for text in _cells(browser, 1)])
        browser.execute_script("document.querySelectorAll('#rows thead button')[1].focus()")
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        _wait(browser, "sorted by another column", lambda: _cells(browser, 2)[:3] == ["1", "2", "3"])
        check(browser.execute_script("return document.querySelectorAll('#rows th')[2].ariaSort") == "ascending", "the order is marked")

        # A plot, and downloads.
        _run(browser, "SELECT platform, status, runtime_ns, line FROM records ORDER BY runtime_ns")
        _wait(browser, "the records", lambda: " in " in _text(browser, "#status") and _cells(browser, 1))
        download = "const [link, done] = arguments; fetch(document.querySelector(link).href).then(r => r.text()).then(text => done(text))"
        lines = browser.execute_async_script(download, "#download-csv").splitlines()
        rows = _text(browser, "#range").replace("\u202f", "").split(" of ")[1]
        check((lines[0], len(lines)) == ("platform,status,runtime_ns,line", int(rows) + 1), "the rows as CSV")
        check(browser.execute_async_script(download, "#download-parquet").startswith("PAR1"), "the rows as Parquet")
        _click(browser, "#plot-toggle")
        _wait(browser, "a plot", lambda: browser.find_elements(By.CSS_SELECTOR, "#plot svg .series"))
        selects = browser.find_elements(By.CSS_SELECTOR, "#plot-options select")
        Select(selects[0]).select_by_value("ecdf")
        Select(selects[1]).select_by_value("runtime_ns")
        Select(selects[3]).select_by_value("platform")
        names = lambda: browser.execute_script("return [...document.querySelectorAll('#plot .series')].map(one => one.dataset.series)")  # noqa: E731
        _wait(browser, "a line for each platform", lambda: {"epyc-1t", "epyc-2t"} <= set(names()))
        looked += _check_layout(browser, "query")

        # An error, with a marked word.
        _run(browser, "SELECT platform,\n  runtime_n\nFROM records")
        _wait(browser, "an error", lambda: "runtime_n" in _text(browser, "#error"))
        check("  runtime_n\n" in browser.execute_script("return document.querySelector('#error pre').textContent"), "its line")
        check(browser.execute_script("return document.querySelector('#mirror mark').textContent") == "runtime_n", "the word")
        check("hint: did you mean" in _text(browser, "#error"), _text(browser, "#error"))
        looked += _check_layout(browser, "error", ("light",))

        # Completions are listed and accepted. A number has none.
        _type(browser, "SELECT 1")
        time.sleep(0.4)
        check(browser.execute_script("return document.getElementById('completions').hidden"), "a number has no completions")
        _type(browser, "SELECT * FROM recor")
        _wait(browser, "completions", lambda: "records" in _text(browser, "#completions"))
        _screenshot(browser, "completions")
        browser.find_element(By.ID, "sql").send_keys(Keys.TAB)
        check(browser.execute_script("return document.getElementById('sql').value") == "SELECT * FROM records", "a completion is accepted")

        # A long query is cancelled, and the next one runs.
        long = "SELECT count(*) FROM generate_series(1, 10000000) AS a, generate_series(1, 10000000) AS b WHERE a.value < b.value"
        _run(browser, long)
        _wait(browser, "a running query", lambda: "running" in _text(browser, "#status"))
        _click(browser, "#cancel")
        _wait(browser, "a cancelled query", lambda: _text(browser, "#status") == "cancelled")
        idle = lambda: browser.execute_async_script("const done = arguments[0]; fetch('state').then(r => r.json()).then(s => done(s.running))") == 0  # noqa: E731
        _wait(browser, "an idle server", idle)

        # A second tab. Closing it cancels its query.
        first = browser.current_window_handle
        inside = browser.current_url
        browser.switch_to.new_window("tab")
        browser.get(url)
        _wait(browser, "the second tab", ready)
        check(browser.current_url == inside, "it is the same page")
        _run(browser, "SELECT 'two' AS tab")
        _wait(browser, "its result", lambda: _cells(browser, 1) == ["two"])
        _run(browser, long)
        _wait(browser, "a running query", lambda: "running" in _text(browser, "#status"))
        browser.close()
        browser.switch_to.window(first)
        _wait(browser, "its query to be cancelled", idle)
        _run(browser, "SELECT 'one' AS tab")
        _wait(browser, "a result in the first tab", lambda: _cells(browser, 1) == ["one"])

        # Built-in queries, tables, sources, HTML report.
        _click(browser, "nav [data-to=queries]")
        browser.find_element(By.ID, "query-search").send_keys("best-so-far")
        browser.find_element(By.XPATH, "//ul[@id='query-list']//button[starts-with(., 'best-so-far')]").click()
        _click(browser, "#query-form button.primary")
        is_plotted = "return document.querySelector('#plot svg .series')?.checkVisibility()"
        _wait(browser, "its plot", lambda: "trials = 20" in _text(browser, "#status") and browser.execute_script(is_plotted))
        looked += _check_layout(browser, "built-in-query")
        _click(browser, "nav [data-to=tables]")
        browser.find_element(By.ID, "table-search").send_keys("runtime_ns")
        browser.find_element(By.CSS_SELECTOR, ".table[data-table=records] summary").click()
        _wait(browser, "units", lambda: "runtime_ns\tfloat64\tns" in _text(browser, ".table[data-table=records]").lower())
        looked += _check_layout(browser, "tables")
        _click(browser, "#sources")
        _wait(browser, "the sources", lambda: any(".json" in name for name in _cells(browser, 1)))
        _click(browser, "nav [data-to=report]")
        browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "#report iframe"))
        _wait(browser, "the HTML report", lambda: "Data quality" in browser.find_element(By.TAG_NAME, "body").text)
        browser.switch_to.default_content()
        looked += _check_layout(browser, "report-view", ("light",))
        _check_console(browser)

        # Requests without the token are rejected.
        browser.delete_all_cookies()
        browser.get(url.split("?")[0])
        check("open the complete address" in browser.find_element(By.TAG_NAME, "body").text, "the hint")
        browser.get_log("browser")
    return looked


if __name__ == "__main__":
    try:
        main()
    except Faults as fault:
        print(fault, file=sys.stderr)
        sys.exit(1)
