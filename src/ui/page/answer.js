// Table of a result, loaded in windows of rows.
const PAGE = 100;
let answer = null, running = null;
const status = text => { $("status").textContent = text; };
const complain = error => {
  const box = $("mistake");
  box.replaceChildren(made("p", error.message, { class: "what" }));
  span = null;
  if (error.span) {
    span = { ...error.span, text: sql.value };
    const line = sql.value.split("\n")[error.span.line - 1] || "";
    const letters = Array.from(line), from = Math.max(0, error.span.column - 61);
    const shown = letters.slice(from, from + 120).join("").replace(/\t/g, " ");
    const margin = sql.value.trim().includes("\n") ? "line " + error.span.line + ": " : "";
    const length = Math.max(1, Math.min(error.span.length, 120));
    box.append(made("pre", margin + shown + "\n" + " ".repeat(margin.length + error.span.column - 1 - from) + "^".repeat(length)));
  }
  if (error.hint) box.append(made("p", "hint: " + error.hint));
  box.hidden = false;
  reflect();
};
const content = () => {
  $("mistake").hidden = true;
  span = null;
  reflect();
};
const forget = () => {
  if (answer) post("answers/" + answer.id + "/forget", {}, { keepalive: true }).catch(() => {});
  answer = null;
};
addEventListener("pagehide", forget);

// Numbers in a readable format. Shortened values have a tooltip, and a dialog with the complete value.
const written = (text, column) => {
  if (!column.is_number || column.name.endsWith("_id")) return text;
  const number = Number(text), isWhole = /^-?\d+$/.test(text);
  if (!Number.isFinite(number) || text.trim() === "") return text;
  // Integers are complete, other numbers have six digits.
  let short = text;
  if (!isWhole && text.replace(/e.*$/, "").replace(/\D/g, "").length > 6) short = Math.abs(number) >= 1e6 && Math.abs(number) < 1e15 ? String(Math.round(number)) : String(Number(number.toPrecision(6)));
  return /^-?\d{5,}(\.\d+)?$/.test(short) ? short.replace(/^-?\d+/, grouped) : short;
};
const cell = (text, column, row, place) => {
  const numeric = column.is_number ? "n" : "";
  if (text === null) return made("td", "NULL", { class: "null " + numeric });
  const shown = written(text, column);
  if (text.length <= 60) return made("td", shown, { class: numeric, title: shown === text ? null : text });
  const td = made("td", null, { class: numeric }), button = made("button", shown, { type: "button", title: "All of it" });
  button.addEventListener("click", () => whole(row, place));
  td.append(button);
  return td;
};
const ordered = () => answer.order ? "&by=" + answer.order.column + "&down=" + Number(answer.order.isDown) : "";
const whole = async (row, place) => {
  try {
    const found = await get("answers/" + answer.id + "/value?row=" + row + "&column=" + place + ordered());
    $("whole-name").textContent = answer.columns[place].name + ", row " + grouped(row + 1);
    $("whole-text").textContent = found.value === null ? "NULL" : found.value;
    $("whole").showModal();
  } catch (error) { complain(asError(error)); }
};
$("whole-close").addEventListener("click", () => $("whole").close());
$("whole-copy").addEventListener("click", () => navigator.clipboard.writeText($("whole-text").textContent).catch(() => {}));

const sortable = () => $("rows").querySelectorAll("thead button").forEach(button => { button.disabled = !answer.isDone; });
const heads = () => {
  const row = made("tr");
  row.append(made("th", "", { scope: "col", "aria-label": "row" }));
  answer.columns.forEach((column, place) => {
    const head = made("th", null, { scope: "col", class: column.is_number ? "n" : null, title: column.type });
    const button = made("button", column.name, { type: "button" });
    button.addEventListener("click", () => {
      const known = answer.order;
      // Ascending, descending, original order.
      if (!known || known.column !== place) answer.order = { column: place, isDown: false };
      else answer.order = known.isDown ? null : { column: place, isDown: true };
      show(0);
    });
    head.append(button);
    if (column.unit) head.append(" ", made("small", column.unit));
    row.append(head);
  });
  $("rows").querySelector("thead").replaceChildren(row);
  sortable();
};
const place = () => {
  const end = Math.min(answer.from + PAGE, answer.all);
  $("range").textContent = answer.all ? "rows " + grouped(answer.from + 1) + "–" + grouped(end) + " of " + grouped(answer.all) : "no rows";
  $("first").disabled = $("before").disabled = answer.from === 0;
  $("next").disabled = $("last").disabled = end >= answer.all;
  $("goto").max = answer.all;
  for (const kind of ["csv", "parquet"]) {
    const link = $("save-" + kind);
    link.hidden = !answer.isDone;
    link.href = "answers/" + answer.id + "/file/rows." + kind + "?" + ordered().slice(1);
  }
};
let shows = 0;
const show = async from => {
  const own = ++shows, asked = answer;
  const box = $("rows");
  box.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => { if (asked.order) status("sorting " + counted(asked.all, "row") + " …"); }, 300);
  try {
    const window = await get("answers/" + asked.id + "/rows?from=" + from + "&count=" + PAGE + ordered());
    if (own !== shows || asked !== answer) return;
    answer.from = window.from;
    if (!answer.isDone) answer.all = window.all;
    const rows = window.rows.map((row, at) => {
      const line = made("tr");
      line.append(made("td", grouped(window.from + at + 1)), ...row.map((text, column) => cell(text, answer.columns[column], window.from + at, column)));
      return line;
    });
    box.querySelector("tbody").replaceChildren(...rows);
    box.scrollTop = 0;
    box.querySelectorAll("th").forEach((head, at) => {
      const is = answer.order && answer.order.column === at - 1;
      if (is) head.setAttribute("aria-sort", answer.order.isDown ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
    });
    place();
    if (answer.isDone) status(answer.said);
  } catch (error) {
    if (own === shows) { answer.order = null; complain(asError(error)); if (answer.isDone) status(answer.said); }
  } finally {
    clearTimeout(slow);
    if (own === shows) box.removeAttribute("aria-busy");
  }
};
const step = from => { if (answer) show(Math.max(0, Math.min(from, Math.floor(Math.max(0, answer.all - 1) / PAGE) * PAGE))); };
$("first").addEventListener("click", () => step(0));
$("before").addEventListener("click", () => step(answer.from - PAGE));
$("next").addEventListener("click", () => step(answer.from + PAGE));
$("last").addEventListener("click", () => step(Infinity));
$("goto").addEventListener("change", event => {
  const row = Number(event.target.value);
  if (row >= 1) step(Math.floor((row - 1) / PAGE) * PAGE);
});
