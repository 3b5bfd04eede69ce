"use strict";
(() => {
const each = (root, selector, act) => root.querySelectorAll(selector).forEach(act);

// Light and dark theme.
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});

each(document, ".chart svg", tsqlChart);

// Names that are hidden in all plots and tables.
each(document, "#names button", button => button.addEventListener("click", () => {
  const isShown = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", isShown);
  const name = button.dataset.name;
  each(document, ".series, .entry", element => { if (element.dataset.series === name) element.classList.toggle("off", !isShown); });
  each(document, "tbody tr", row => {
    if ([...row.cells].some(cell => cell.textContent === name)) row.dataset.off = isShown ? "" : "1";
  });
  each(document, ".grid", filterRows);
}));

// Sorting and searching of tables.
const filterRows = grid => {
  const query = grid.querySelector("input").value.toLowerCase();
  each(grid, "tbody tr", row => {
    row.hidden = row.dataset.off === "1" || query !== "" && !row.textContent.toLowerCase().includes(query);
  });
};
each(document, ".grid", grid => {
  grid.querySelector("input").addEventListener("input", () => filterRows(grid));
  each(grid, "th button", (button, column) => button.addEventListener("click", () => {
    const head = button.parentNode, body = grid.querySelector("tbody");
    const isDown = head.getAttribute("aria-sort") === "ascending";
    each(grid, "th", other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const key = row => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const rows = [...body.rows].map(row => [key(row), row]);
    const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
    rows.sort((a, b) => isDown ? order(b[0], a[0]) : order(a[0], b[0]));
    body.append(...rows.map(row => row[1]));
  }));
});

// Copying of queries.
each(document, ".copy", button => button.addEventListener("click", async () => {
  const pre = button.parentNode.querySelector("pre");
  try {
    await navigator.clipboard.writeText(pre.textContent);
  } catch {
    // A local file cannot use the clipboard, so its text is selected.
    getSelection().selectAllChildren(pre);
    document.execCommand("copy");
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}));
})();
