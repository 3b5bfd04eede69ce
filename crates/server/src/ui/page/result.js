// Result: a table that is loaded one page of rows at a time.
const PAGE_ROWS = 100;
let result = null;
const showStatus = text => { $("status").textContent = text; };

// Errors, with the affected line and a marker below it.
const errorExcerpt = span => {
  const line = sql.value.split("\n")[span.line - 1] || "";
  const characters = Array.from(line), from = Math.max(0, span.column - 61);
  const visible = characters.slice(from, from + 120).join("").replace(/\t/g, " ");
  const margin = sql.value.trim().includes("\n") ? "line " + span.line + ": " : "";
  const length = Math.max(1, Math.min(span.length, 120));
  return margin + visible + "\n" + " ".repeat(margin.length + span.column - 1 - from) + "^".repeat(length);
};
const showError = error => {
  const box = $("error");
  box.replaceChildren(createElement("p", error.message, { class: "message" }));
  errorSpan = error.span ? { ...error.span, text: sql.value } : null;
  if (error.span) box.append(createElement("pre", errorExcerpt(error.span)));
  if (error.hint) box.append(createElement("p", "hint: " + error.hint));
  box.hidden = false;
  updateMirror();
};
const clearError = () => {
  $("error").hidden = true;
  errorSpan = null;
  updateMirror();
};
const discardResult = () => {
  if (result) postJson("results/" + result.id + "/delete", {}, { keepalive: true }).catch(() => {});
  result = null;
};
addEventListener("pagehide", discardResult);

// Integers are complete, other numbers have six significant digits.
const formatValue = (text, column) => {
  if (!column.is_number || column.name.endsWith("_id")) return text;
  const number = Number(text), isInteger = /^-?\d+$/.test(text);
  if (!Number.isFinite(number) || text.trim() === "") return text;
  let short = text;
  if (!isInteger && text.replace(/e.*$/, "").replace(/\D/g, "").length > 6) {
    const size = Math.abs(number);
    short = String(size >= 1e6 && size < 1e15 ? Math.round(number) : Number(number.toPrecision(6)));
  }
  return /^-?\d{5,}(\.\d+)?$/.test(short) ? short.replace(/^-?\d+/, formatInteger) : short;
};
// Rounded values have a tooltip with the exact value. Long values open in a dialog.
const createCell = (text, column, row, index) => {
  const align = column.is_number ? "n" : "";
  if (text === null) return createElement("td", "NULL", { class: "null " + align });
  const short = formatValue(text, column);
  if (text.length <= 60) return createElement("td", short, { class: align, title: short === text ? null : text });
  const cell = createElement("td", null, { class: align });
  cell.append(createButton(short, () => showValue(row, index), { title: "Show the full value" }));
  return cell;
};
const orderParameters = () => result.order ? "&by=" + result.order.column + "&down=" + Number(result.order.isDown) : "";
const showValue = async (row, index) => {
  try {
    const found = await getJson("results/" + result.id + "/value?row=" + row + "&column=" + index + orderParameters());
    $("value-name").textContent = result.columns[index].name + ", row " + formatInteger(row + 1);
    $("value-text").textContent = found.value === null ? "NULL" : found.value;
    $("value-dialog").showModal();
  } catch (error) { showError(toError(error)); }
};
$("value-close").addEventListener("click", () => $("value-dialog").close());
$("value-copy").addEventListener("click", () => navigator.clipboard.writeText($("value-text").textContent).catch(() => {}));

// Column headings. A click sorts ascending, then descending, then in the original order.
const updateSorting = () => {
  $("rows").querySelectorAll("thead button").forEach(button => { button.disabled = !result.isDone; });
};
const sortBy = index => {
  const order = result.order;
  if (!order || order.column !== index) result.order = { column: index, isDown: false };
  else result.order = order.isDown ? null : { column: index, isDown: true };
  showPage(0);
};
const showHeadings = () => {
  const row = createElement("tr");
  row.append(createElement("th", "", { scope: "col", "aria-label": "row" }));
  result.columns.forEach((column, index) => {
    const heading = createElement("th", null, { scope: "col", class: column.is_number ? "n" : null, title: column.type });
    heading.append(createButton(column.name, () => sortBy(index)));
    if (column.unit) heading.append(" ", createElement("small", column.unit));
    row.append(heading);
  });
  $("rows").querySelector("thead").replaceChildren(row);
  updateSorting();
};
const markSortedColumn = () => $("rows").querySelectorAll("th").forEach((heading, index) => {
  const order = result.order;
  if (order && order.column === index - 1) heading.setAttribute("aria-sort", order.isDown ? "descending" : "ascending");
  else heading.removeAttribute("aria-sort");
});

// Pages of rows.
const updatePager = () => {
  const end = Math.min(result.from + PAGE_ROWS, result.rowCount), range = formatInteger(result.from + 1) + "–" + formatInteger(end);
  $("range").textContent = result.rowCount ? "rows " + range + " of " + formatInteger(result.rowCount) : "no rows";
  $("first").disabled = $("previous").disabled = result.from === 0;
  $("next").disabled = $("last").disabled = end >= result.rowCount;
  $("goto").max = result.rowCount;
  for (const format of ["csv", "parquet"]) {
    const link = $("download-" + format);
    link.hidden = !result.isDone;
    link.href = "results/" + result.id + "/file/rows." + format + "?" + orderParameters().slice(1);
  }
};
let lastPageRequest = 0;
const showPage = async from => {
  const request = ++lastPageRequest, current = result;
  const box = $("rows");
  box.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => { if (current.order) showStatus("sorting " + formatCount(current.rowCount, "row") + " …"); }, 300);
  try {
    const page = await getJson("results/" + current.id + "/rows?from=" + from + "&count=" + PAGE_ROWS + orderParameters());
    if (request !== lastPageRequest || current !== result) return;
    result.from = page.from;
    if (!result.isDone) result.rowCount = page.row_count;
    const lines = page.rows.map((row, index) => {
      const line = createElement("tr"), number = page.from + index;
      const cells = row.map((text, column) => createCell(text, result.columns[column], number, column));
      line.append(createElement("td", formatInteger(number + 1)), ...cells);
      return line;
    });
    box.querySelector("tbody").replaceChildren(...lines);
    box.scrollTop = 0;
    markSortedColumn();
    updatePager();
    if (result.isDone) showStatus(result.summary);
  } catch (error) {
    if (request !== lastPageRequest || current !== result) return;
    result.order = null;
    showError(toError(error));
    if (result.isDone) showStatus(result.summary);
  } finally {
    clearTimeout(slow);
    if (request === lastPageRequest) box.removeAttribute("aria-busy");
  }
};
const goToRow = row => {
  if (!result) return;
  const lastRow = Math.max(0, result.rowCount - 1);
  showPage(Math.floor(Math.max(0, Math.min(row, lastRow)) / PAGE_ROWS) * PAGE_ROWS);
};
$("first").addEventListener("click", () => goToRow(0));
$("previous").addEventListener("click", () => goToRow(result.from - PAGE_ROWS));
$("next").addEventListener("click", () => goToRow(result.from + PAGE_ROWS));
$("last").addEventListener("click", () => goToRow(Infinity));
$("goto").addEventListener("change", event => {
  const row = Number(event.target.value);
  if (row >= 1) goToRow(row - 1);
});
