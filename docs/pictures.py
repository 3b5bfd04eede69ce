"""Writes the pictures of the documentation to `docs/images`: `docs/pictures.py TSQL [--check]`.

TSQL is the command. The pictures are its output: charts, the screen of a terminal, and screenshots of a browser. The
data are those of the built-in sample; roofline and graph use the folder `data` of the checkout. Needs the packages of
`tests/requirements.txt`, and for screenshots Chromium with its driver.

`--check` writes the SVG files to a temporary folder, and compares them with those of `docs/images`. It prints the names
of files that differ, and exits with 1 if there are any. Screenshots depend on the browser, and are not compared.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
CHECKOUT = DOCS.parent

sys.path.insert(0, str(CHECKOUT / "tests/python"))
from terminal import Terminal  # noqa: E402

MAX_BYTES = 200_000
TIMEOUT_S = 60


@dataclass(frozen=True)
class Chart:
    """A chart, the page that shows it, and the commands that write it, as on the page."""

    name: str
    page: str
    commands: tuple[str, ...]


CHARTS = (
    Chart("compare.svg", "how-to/compare.md", ("tsql --sample compare epyc-1t epyc-2t --rule ranks --plot compare.svg",)),
    Chart(
        "ecdf.svg",
        "how-to/plot.md",
        (
            "tsql --sample plot \\\n"
            "    \"SELECT runtime_ns, platform FROM records WHERE status = 'ok' ORDER BY platform\" \\\n"
            "    --kind ecdf -x runtime_ns --by platform --size 800x450 -o ecdf.svg",
        ),
    ),
    Chart(
        "roofline.svg",
        "how-to/plot.md",
        (
            "tsql ingest data/measured",
            'tsql plot - --kind scatter -x "FLOP per byte" -y gflops --by operator --log xy \\\n'
            "    --limit roof_gflops --annotate best_reached --size 800x450 -o roofline.svg < roofline.sql",
        ),
    ),
    Chart("graph.svg", "how-to/plot.md", ("tsql ingest data/graphnet", "tsql plot graph convnet -o graph.svg")),
)

# Lines typed into the shell, each with the prompt that follows.
SHELL_LINES = (
    ("tsql --sample", "sample>"),
    ("SELECT platform, median(runtime_n) AS median_ns", "->"),
    ("FROM records GROUP BY platform ORDER BY platform;", "sample>"),
    ("SELECT platform, median(runtime_ns) AS median_ns", "->"),
    ("FROM records GROUP BY platform ORDER BY platform;", "sample>"),
)

# Heights of the windows, which end below a plot.
UI_HEIGHT, REPORT_HEIGHT = 850, 945

UI_QUERY = """\
SELECT platform, workload_name, runtime_ns, noise, line
FROM records
JOIN graphs USING (graph_id)
WHERE status = 'ok'
ORDER BY platform, runtime_ns"""
# Kind, x, y, color, facet and logarithmic axes of the plot in the web UI.
UI_PLOT = ("box", "workload_name", "runtime_ns", "platform", "", "y")


def make_svgs(command: Path, folder: Path) -> list[Path]:
    """Writes all SVG files to a folder, and returns their paths."""
    charts = [make_chart(command, chart, folder) for chart in CHARTS]
    shell = folder / "shell.svg"
    shell.write_text(shell_svg(command), encoding="utf-8")
    return [*charts, shell]


def make_chart(command: Path, chart: Chart, folder: Path) -> Path:
    """Runs the commands of a chart in an empty folder with the data of the checkout."""
    page = (DOCS / chart.page).read_text(encoding="utf-8")
    for line in chart.commands:
        if f"$ {line}\n" not in page:
            raise SystemExit(f"{chart.page} does not show `{line}`")
    with workplace(command) as (place, environment):
        (place / "data").symlink_to(CHECKOUT / "data")
        (place / "roofline.sql").symlink_to(DOCS / "how-to/roofline.sql")
        script = "\n".join(["set -e", *chart.commands])
        subprocess.run(["bash", "-c", script], cwd=place, env=environment, check=True, capture_output=True)
        return Path(shutil.copy(place / chart.name, folder))


@contextmanager
def workplace(command: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yields a temporary folder, and an environment in which `tsql` is the command and nothing is configured."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder, "bin")
        programs.mkdir()
        (programs / "tsql").symlink_to(command)
        place = Path(folder, "place")
        place.mkdir()
        environment = {"HOME": folder, "LANG": "C.UTF-8", "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"}
        yield place, environment


def shell_svg(command: Path) -> str:
    """Types the lines into a terminal of 80 columns, and returns its screen as SVG."""
    with workplace(command) as (_, environment):
        settings = [f"{name}={value}" for name, value in environment.items()]
        settings += ["TERM=xterm-256color", "PS1=$ "]
        terminal = Terminal(80, 40, ["env", "-i", *settings, "bash", "--norc", "--noprofile"])
        terminal.until(lambda: terminal.line().strip() == "$", TIMEOUT_S)
        for line, prompt in SHELL_LINES:
            type_line(terminal, line, prompt)
        svg = screen_svg(terminal.screen)
        type_line(terminal, ".quit", "$")
        terminal.keys("exit\r")
        terminal.until(lambda: False, TIMEOUT_S)
        return svg


def type_line(terminal: Any, line: str, prompt: str) -> None:
    """Types a line, and waits for the prompt below it."""
    terminal.keys(line)
    if not terminal.until(lambda: terminal.line().rstrip().endswith(line), TIMEOUT_S):
        raise SystemExit(f"the terminal does not show `{line}`")
    row = terminal.screen.cursor.y
    terminal.keys("\r")
    if not terminal.until(lambda: terminal.screen.cursor.y > row and terminal.line().strip() == prompt, TIMEOUT_S):
        raise SystemExit(f"no `{prompt}` after `{line}`")


# Advance and line height of the font of a terminal, in which lines of tables join.
FONT_SIZE, CELL_WIDTH, CELL_HEIGHT = 15, 9.03, 17.5
MARGIN, TITLE_BAR = 18, 32
# Colors of a terminal with a contrast of at least 4.5 on white.
INK = "#1f2328"
COLORS = {
    "default": INK,
    "red": "#cf222e",
    "green": "#1a7f37",
    "brown": "#7d4e00",
    "blue": "#0550ae",
    "magenta": "#8250df",
    "cyan": "#1b7c83",
}


def screen_svg(screen: Any) -> str:
    """Draws the lines of a screen as a window."""
    rows = [row for row, line in enumerate(screen.display) if line.strip()]
    width = round(2 * MARGIN + screen.columns * CELL_WIDTH)
    height = round(TITLE_BAR + 2 * MARGIN + (rows[-1] + 1) * CELL_HEIGHT)
    label = escape("\n".join(screen.display[row].rstrip() for row in rows), {'"': "&quot;", "\n": "&#10;"})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT_SIZE}" role="img" '
        f'aria-label="{label}">',
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#ffffff" stroke="#d0d7de"/>',
        f'<path d="M1 {TITLE_BAR}V8.5a7.5 7.5 0 0 1 7.5-7.5H{width - 8.5}a7.5 7.5 0 0 1 7.5 7.5V{TITLE_BAR}z" '
        'fill="#eaeef2"/>',
    ]
    parts += [f'<circle cx="{20 + 20 * place}" cy="{TITLE_BAR / 2}" r="5.5" fill="#afb8c1"/>' for place in range(3)]
    for row in rows:
        y = TITLE_BAR + MARGIN + row * CELL_HEIGHT + 0.8 * FONT_SIZE
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        parts += row_texts(cells, y)
    return "\n".join([*parts, "</svg>", ""])


def row_texts(cells: list[Any], y: float) -> Iterator[str]:
    """Yields a text for each run of cells with one style."""
    runs = itertools.groupby(enumerate(cells), lambda cell: (cell[1].fg, cell[1].bold))
    for (color, is_bold), run in runs:
        column, _ = first = next(run)
        text = "".join(cell.data for _, cell in [first, *run])
        column += len(text) - len(text.lstrip())
        if text := text.strip():
            fill = COLORS[color.removeprefix("bright")]
            weight = ' font-weight="bold"' if is_bold else ""
            # The length keeps columns aligned in any font.
            yield (
                f'<text x="{MARGIN + column * CELL_WIDTH:.2f}" y="{y:.2f}" textLength="{len(text) * CELL_WIDTH:.2f}" '
                f'fill="{fill}"{weight} xml:space="preserve">{escape(text)}</text>'
            )


def make_screenshots(command: Path, folder: Path) -> list[Path]:
    """Writes screenshots of the web UI and of the HTML report to a folder, and returns their paths."""
    with browser() as driver:
        return [*ui_screenshots(driver, command, folder), report_screenshot(driver, command, folder)]


@contextmanager
def browser() -> Iterator[Any]:
    """Yields a browser without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        flags = ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"]
        for flag in [*flags, "disable-background-networking", f"user-data-dir={profile}"]:
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def set_window(driver: Any, height: int, theme: str) -> None:
    """Sets the height of the window and the theme of the system."""
    size = {"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def ui_screenshots(driver: Any, command: Path, folder: Path) -> list[Path]:
    """Runs a query in the web UI, plots its result, and takes a screenshot in each theme."""
    with workplace(command) as (_, environment):
        server = subprocess.Popen(
            ["tsql", "ui", "--sample", "--no-open"], env=environment, stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            set_window(driver, UI_HEIGHT, "light")
            driver.get(next(line for line in server.stderr if "token=" in line).split()[1])
            plot_query(driver)
            paths = []
            for name, theme in (("ui.png", "light"), ("ui-dark.png", "dark")):
                set_window(driver, UI_HEIGHT, theme)
                paths.append(screenshot(driver, folder / name))
            return paths
        finally:
            server.terminate()
            server.wait(TIMEOUT_S)


def plot_query(driver: Any) -> None:
    """Runs the query in the web UI, and selects the plot."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.select import Select

    wait(lambda: driver.execute_script("return document.documentElement.dataset.ready") == "1", "the web UI")
    driver.find_element(By.ID, "sql").send_keys(UI_QUERY)
    # The list of completions may cover the button.
    driver.execute_script("document.activeElement.blur(); document.getElementById('run').click()")
    wait(lambda: " rows in " in driver.find_element(By.ID, "status").text, "rows")
    driver.find_element(By.ID, "plot-toggle").click()
    wait(lambda: driver.find_elements(By.CSS_SELECTOR, "#plot svg .series"), "a plot")
    selects = driver.find_elements(By.CSS_SELECTOR, "#plot-options select")
    for select, value in zip(selects, UI_PLOT, strict=True):
        Select(select).select_by_value(value)
    # The element is replaced by each new plot, so one script reads it.
    text = "return document.querySelector('#plot svg')?.textContent ?? ''"
    wait(lambda: "workload name" in driver.execute_script(text), "the selected plot")
    driver.execute_script("document.activeElement.blur()")


def report_screenshot(driver: Any, command: Path, folder: Path) -> Path:
    """Takes a screenshot of the section with the results."""
    with workplace(command) as (place, environment):
        report = place / "store.html"
        write_report = ["tsql", "--sample", "report", "html", "-o", str(report)]
        subprocess.run(write_report, env=environment, check=True, stderr=subprocess.DEVNULL)
        set_window(driver, REPORT_HEIGHT, "light")
        driver.get(report.as_uri())
        driver.find_element("link text", "Results").click()
        return screenshot(driver, folder / "report.png")


def screenshot(driver: Any, path: Path) -> Path:
    # The page is drawn once more after a change of the window.
    time.sleep(0.5)
    driver.save_screenshot(str(path))
    return path


def wait(condition: Callable[[], object], name: str) -> None:
    """Waits until a condition holds; `name` is the thing that is missing until then."""
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited {TIMEOUT_S} s for {name}")
        time.sleep(0.05)


def differing(command: Path) -> list[str]:
    """Returns the names of SVG files that differ from those of `docs/images`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = make_svgs(command, Path(folder))
        return [path.name for path in paths if not is_same(path, IMAGES / path.name)]


def is_same(path: Path, stored: Path) -> bool:
    """Returns whether both files exist and have the same bytes."""
    return stored.exists() and path.read_bytes() == stored.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the pictures of the documentation.")
    parser.add_argument("command", metavar="TSQL", type=Path, help="path of the command `tsql`")
    parser.add_argument("--check", action="store_true", help="compare the SVG files with docs/images, and write none")
    arguments = parser.parse_args()
    command = arguments.command.resolve()
    if arguments.check:
        if names := differing(command):
            raise SystemExit(f"run docs/pictures.py, these pictures differ: {', '.join(names)}")
        return
    for path in [*make_svgs(command, IMAGES), *make_screenshots(command, IMAGES)]:
        size = path.stat().st_size
        print(f"{path.name}: {size} bytes")
        if size > MAX_BYTES:
            raise SystemExit(f"{path.name} has more than {MAX_BYTES} bytes")


if __name__ == "__main__":
    main()
