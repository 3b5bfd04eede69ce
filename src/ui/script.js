(() => {
const $ = id => document.getElementById(id);
const made = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  return element;
};
const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const counted = (number, noun) => grouped(number) + " " + noun + (number === 1 ? "" : "s");
const headers = { "content-type": "application/json" };
const told = async response => {
  const body = await response.text();
  try { return JSON.parse(body); } catch { return { message: body.trim() || response.statusText, hint: null, spot: null }; }
};
const get = async path => {
  const response = await fetch(path);
  if (!response.ok) throw await told(response);
  return response.json();
};
const post = (path, body, rest = {}) => fetch(path, { method: "POST", headers, body: JSON.stringify(body), ...rest });
const gone = "the server has ended: start `tsql ui` again";
const asError = error => error && error.message && error.spot !== undefined ? error : { message: error instanceof TypeError ? gone : String(error && error.message || error), hint: null, spot: null };

// Light and dark.
const root = document.documentElement;
try { if (localStorage.theme) root.dataset.theme = localStorage.theme; } catch { /* not kept */ }
$("theme").addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.theme = root.dataset.theme; } catch { /* not kept */ }
});

// Views.
const view = name => {
  document.body.dataset.view = name;
  document.querySelectorAll("nav [data-to]").forEach(button => {
    if (button.dataset.to === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  });
  if (name === "store" && !$("store").querySelector("iframe")) {
    // It has a script of its own, and is kept apart from all that is here.
    $("store").append(made("iframe", null, { src: "store.html", sandbox: "allow-scripts allow-popups", title: "The page of the store" }));
  }
};
document.querySelectorAll("nav [data-to]").forEach(button => button.addEventListener("click", () => view(button.dataset.to)));

// What is typed: the mirror below the text has the same letters in the same places.
const sql = $("sql"), mirror = $("mirror"), words = $("words");
let spot = null;
const indexOf = (text, place) => {
  const lines = text.split("\n");
  const line = Math.min(place.line, lines.length) - 1;
  const before = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
  return before + Array.from(lines[line]).slice(0, place.column - 1).join("").length;
};
const reflect = () => {
  mirror.replaceChildren();
  if (!spot || spot.text !== sql.value) { mirror.textContent = sql.value + "\n"; return; }
  const from = indexOf(sql.value, spot), word = Array.from(sql.value.slice(from)).slice(0, spot.length).join("");
  mirror.append(sql.value.slice(0, from), made("mark", word || " "), sql.value.slice(from + word.length) + "\n");
};
const caret = () => {
  const range = document.createRange();
  mirror.textContent = sql.value + "\n";
  range.setStart(mirror.firstChild, sql.selectionStart);
  range.collapse(true);
  const box = range.getBoundingClientRect(), around = $("editor").getBoundingClientRect();
  reflect();
  return [box.left - around.left, box.bottom - around.top];
};
const replaced = (from, to, text) => {
  sql.setRangeText(text, from, to, "end");
  reflect();
};
sql.addEventListener("scroll", () => { mirror.scrollTop = sql.scrollTop; });

// Words to type.
let suggested = null, wanted = 0;
const close = () => {
  suggested = null;
  wanted += 1;
  words.hidden = true;
  sql.setAttribute("aria-expanded", "false");
  sql.removeAttribute("aria-activedescendant");
};
const choose = place => {
  if (!suggested) return;
  suggested.at = (place + suggested.words.length) % suggested.words.length;
  [...words.children].forEach((item, at) => {
    item.setAttribute("aria-selected", at === suggested.at);
    if (at === suggested.at) { item.scrollIntoView({ block: "nearest" }); sql.setAttribute("aria-activedescendant", item.id); }
  });
};
const take = place => {
  const { begun, words: all } = suggested, end = sql.selectionStart;
  replaced(end - begun.length, end, all[place].value);
  close();
  sql.focus();
};
const suggest = async isForced => {
  const before = sql.value.slice(0, sql.selectionStart);
  if (!isForced && !/[\p{L}\p{N}_.]$/u.test(before)) { close(); return; }
  const own = ++wanted;
  let found;
  try { found = await told(await post("suggest", { text: sql.value, before })); } catch { return; }
  if (own !== wanted || !found.words || before !== sql.value.slice(0, sql.selectionStart)) return;
  if (!found.words.length || (found.words.length === 1 && found.words[0].value.trim() === found.begun)) { close(); return; }
  suggested = { ...found, at: -1 };
  words.replaceChildren(...found.words.map((word, at) => {
    const item = made("li", null, { role: "option", id: "word-" + at, "aria-selected": "false" });
    item.append(made("b", word.value.trim()), made("span", word.doc));
    item.addEventListener("mousedown", event => { event.preventDefault(); take(at); });
    return item;
  }));
  words.hidden = false;
  sql.setAttribute("aria-expanded", "true");
  const [x, y] = caret(), room = $("editor").clientWidth - words.offsetWidth;
  words.style.left = Math.max(0, Math.min(x, room)) + "px";
  words.style.top = Math.min(y + 4, $("editor").clientHeight) + "px";
  choose(0);
};
let pause = 0;
sql.addEventListener("input", () => {
  reflect();
  clearTimeout(pause);
  pause = setTimeout(() => suggest(false), 120);
});
sql.addEventListener("blur", close);
sql.addEventListener("click", close);
sql.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); close(); run(); return; }
  if (event.ctrlKey && event.key === " ") { event.preventDefault(); suggest(true); return; }
  if (!suggested) return;
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (steps[event.key]) { event.preventDefault(); choose(suggested.at + steps[event.key]); }
  else if (event.key === "Tab" || event.key === "Enter") { event.preventDefault(); take(suggested.at); }
  else if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
  else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) close();
});

// An answer: some rows of it at a time.
const PAGE = 100;
let answer = null, running = null;
const status = text => { $("status").textContent = text; };
const complain = error => {
  const box = $("mistake");
  box.replaceChildren(made("p", error.message, { class: "what" }));
  spot = null;
  if (error.spot) {
    spot = { ...error.spot, text: sql.value };
    const line = sql.value.split("\n")[error.spot.line - 1] || "";
    const letters = Array.from(line), from = Math.max(0, error.spot.column - 61);
    const shown = letters.slice(from, from + 120).join("").replace(/\t/g, " ");
    const margin = sql.value.trim().includes("\n") ? "line " + error.spot.line + ": " : "";
    const length = Math.max(1, Math.min(error.spot.length, 120));
    box.append(made("pre", margin + shown + "\n" + " ".repeat(margin.length + error.spot.column - 1 - from) + "^".repeat(length)));
  }
  if (error.hint) box.append(made("p", "hint: " + error.hint));
  box.hidden = false;
  reflect();
};
const content = () => {
  $("mistake").hidden = true;
  spot = null;
  reflect();
};
const forget = () => {
  if (answer) post("answers/" + answer.id + "/forget", {}, { keepalive: true }).catch(() => {});
  answer = null;
};
addEventListener("pagehide", forget);

// Numbers as people compare them; what was shortened is told below the pointer, and whole in a dialog.
const written = (text, column) => {
  if (!column.is_number || column.name.endsWith("_id")) return text;
  const number = Number(text), isWhole = /^-?\d+$/.test(text);
  if (!Number.isFinite(number) || text.trim() === "") return text;
  // Whole numbers are whole; of others six digits tell them apart.
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
      // Up, down, as it was.
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

// Questions are asked.
const seconds = value => value < 10 ? value.toFixed(2) + " s" : Math.round(value) + " s";
const busy = is => {
  $("run").disabled = is;
  $("cancel").disabled = !is;
  const ask = $("form").querySelector("button.main");
  if (ask) ask.disabled = is;
};
const begun = found => {
  answer = { ...found, from: 0, all: 0, order: null, isDone: false, said: "" };
  $("picture").hidden = true;
  $("picture-open").setAttribute("aria-expanded", "false");
  heads();
  $("rows").querySelector("tbody").replaceChildren();
  $("goto").value = "";
  $("picture-open").disabled = true;
  place();
  if (found.question) answer.plot = found.question.plot;
};
const done = found => {
  $("answer").hidden = false;
  answer.isDone = true;
  answer.all = found.rows;
  answer.said = counted(found.rows, "row") + " in " + seconds(found.seconds);
  if (found.is_cut) answer.said = "the first " + answer.said + ": there are more, and no room for them here; `tsql -o FILE` writes all";
  if (found.note) answer.said += " · " + found.note;
  const chosen = answer.question && Object.entries(answer.question.values).map(([name, value]) => name + " = " + value).join(", ");
  if (chosen) answer.said += " · " + chosen;
  status(answer.said);
  sortable();
  $("picture-open").disabled = found.rows === 0;
  show(0);
  if (answer.plot && found.rows) open();
};
const ask = async asked => {
  cancel();
  forget();
  content();
  $("answer").hidden = true;
  status("…");
  const own = running = new AbortController();
  busy(true);
  try {
    const response = await post("ask", asked, { signal: own.signal });
    if (!response.ok) throw await told(response);
    const reader = response.body.getReader(), decoder = new TextDecoder();
    let text = "", isOver = false;
    for (;;) {
      const { value, done: isEnd } = await reader.read();
      if (isEnd) break;
      text += decoder.decode(value, { stream: true });
      const lines = text.split("\n");
      text = lines.pop();
      for (const line of lines) {
        const said = JSON.parse(line);
        if (running !== own) return;
        if (said.begun) begun(said.begun);
        else if (said.failed) { isOver = true; throw said.failed; }
        else if (said.done) { isOver = true; done(said.done); }
        else {
          status((said.rows ? counted(said.rows, "row") + " so far" : "running") + ", " + seconds(said.seconds));
          if (answer && said.rows) {
            $("answer").hidden = false;
            if (answer.all === 0) show(0);
            answer.all = said.rows;
            place();
          }
        }
      }
    }
    if (!isOver) throw new TypeError(gone);
  } catch (error) {
    if (running !== own) return;
    if (error.name === "AbortError") status("cancelled" + (answer && answer.all ? " after " + counted(answer.all, "row") : ""));
    else { status(""); $("answer").hidden = true; complain(asError(error)); }
  } finally {
    if (running === own) { running = null; busy(false); }
  }
};
const cancel = () => { if (running) running.abort(); };
const run = () => { if (sql.value.trim()) ask({ sql: sql.value }); };
$("run").addEventListener("click", run);
$("cancel").addEventListener("click", cancel);
addEventListener("keydown", event => { if (event.key === "Escape" && !$("whole").open) cancel(); });

// Pictures of an answer.
const chosen = {};
const selected = (name, options) => {
  const label = made("label", name), select = made("select");
  select.append(made("option", "auto", { value: "" }), ...options.map(option => made("option", option, { value: option })));
  select.addEventListener("change", () => { chosen[name] = select.value; draw(); });
  label.append(select);
  return label;
};
const wish = () => ({ ...chosen, spec: answer.plot || "" });
const open = () => {
  for (const name of Object.keys(chosen)) delete chosen[name];
  const names = answer.columns.map(column => column.name);
  const save = (text, form) => {
    const button = made("button", text, { type: "button" });
    button.addEventListener("click", () => download(form));
    return button;
  };
  $("drawing").replaceChildren(selected("kind", catalog.kinds), selected("x", names), selected("y", names), selected("by", names), selected("facet", names), selected("log", ["none", "x", "y", "xy"]), save("Save SVG", "svg"), save("Save PNG", "png"));
  $("picture").hidden = false;
  $("picture-open").setAttribute("aria-expanded", "true");
  draw();
};
$("picture-open").addEventListener("click", () => {
  if ($("picture").hidden) { open(); return; }
  $("picture").hidden = true;
  $("picture-open").setAttribute("aria-expanded", "false");
});
const drawn = async form => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const response = await post("answers/" + answer.id + "/picture", { drawn: wish(), form, is_dark: isDark });
  if (!response.ok) throw await told(response);
  return response;
};
let draws = 0;
const draw = async () => {
  const own = ++draws, box = document.querySelector("#picture .picture");
  try {
    const text = await (await drawn("page")).text();
    if (own !== draws) return;
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    box.replaceChildren(document.importNode(svg, true));
    tsqlPicture(box.querySelector("svg"));
  } catch (error) {
    if (own !== draws) return;
    const { message, hint } = asError(error);
    box.replaceChildren(made("p", message + (hint ? ". " + hint : ""), { role: "alert" }));
  }
};
const download = async form => {
  try {
    const blob = await (await drawn(form)).blob();
    const link = made("a", null, { href: URL.createObjectURL(blob), download: "answer." + form });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) { complain(asError(error)); }
};

// What there is: tables, questions.
let catalog = { kinds: [], tables: [], questions: [], platforms: [] };
const rowsOf = {};
const insert = name => {
  view("ask");
  const at = sql.selectionStart, before = sql.value.slice(0, at);
  replaced(at, sql.selectionEnd, (/[\s(,.]$|^$/.test(before) ? "" : " ") + name);
  sql.focus();
};
const tableShown = table => {
  const box = made("details", null, { class: "table", "data-table": table.name }), head = made("summary");
  head.append(made("b", table.name), made("span", table.kind === "view" ? "view" : "", { class: "keys" }), made("span", "", { class: "count" }), made("span", table.doc, { class: "doc" }));
  box.append(head);
  // Only what is looked at is made.
  box.addEventListener("toggle", () => {
    if (!box.open || box.querySelector(".scroll")) return;
    const look = made("button", "SELECT * FROM " + table.name, { type: "button", class: "code" });
    look.addEventListener("click", () => { sql.value = "SELECT * FROM " + table.name; reflect(); view("ask"); run(); });
    const scroll = made("div", null, { class: "scroll" }), grid = made("table", null, { class: "columns" }), body = made("tbody"), top = made("thead");
    top.innerHTML = "<tr><th scope=\"col\">column</th><th scope=\"col\">type</th><th scope=\"col\">unit</th><th scope=\"col\">what it is</th></tr>";
    for (const column of table.columns) {
      const line = made("tr", null, { title: column.type + (column.unit ? ", " + column.unit : "") + ": " + column.doc }), name = made("td"), button = made("button", column.name, { type: "button" });
      button.addEventListener("click", () => insert(column.name));
      name.append(button);
      line.append(name, made("td", column.type), made("td", column.unit || ""), made("td", column.doc));
      body.append(line);
    }
    grid.append(top, body);
    scroll.append(grid);
    const line = made("div", null, { class: "line" });
    line.append(look);
    box.append(line, scroll);
  });
  return box;
};
const counts = () => document.querySelectorAll(".table").forEach(box => {
  const rows = rowsOf[box.dataset.table];
  box.querySelector(".count").textContent = rows === undefined ? "" : counted(rows, "row");
});
$("find-table").addEventListener("input", event => {
  const text = event.target.value.toLowerCase();
  catalog.tables.forEach((table, at) => {
    const own = [table.name, table.doc, ...table.columns.map(column => column.name + " " + column.doc)].join(" ").toLowerCase();
    $("table-list").children[at].hidden = !own.includes(text);
  });
});
const questionShown = question => {
  const item = made("li"), button = made("button", question.name, { type: "button" });
  button.append(made("small", question.title));
  button.addEventListener("click", () => {
    $("question-list").querySelectorAll("[aria-current]").forEach(other => other.removeAttribute("aria-current"));
    button.setAttribute("aria-current", "true");
    form(question);
  });
  item.append(button);
  return item;
};
const form = question => {
  const box = $("form");
  box.replaceChildren(made("h2", question.name), made("p", question.title));
  for (const parameter of question.parameters) {
    const label = made("label", parameter.name);
    let input;
    if (parameter.is_platform) {
      input = made("select", null, { name: parameter.name });
      input.append(made("option", "the one with most records", { value: "" }), ...catalog.platforms.map(name => made("option", name, { value: name })));
    } else input = made("input", null, { name: parameter.name, value: parameter.default });
    label.append(input, made("span", parameter.doc));
    box.append(label);
  }
  for (const file of question.files) {
    const label = made("label", file.name);
    label.append(made("input", null, { name: file.name, placeholder: "path of a file", disabled: !catalog.files }), made("span", file.doc + (catalog.files ? "" : " (start with `tsql ui --files` to read files)")));
    box.append(label);
  }
  const line = made("div", null, { class: "line" }), edit = made("button", "Edit its SQL", { type: "button" });
  edit.disabled = question.parameters.length + question.files.length > 0;
  edit.title = edit.disabled ? "It has parameters" : "";
  edit.addEventListener("click", () => { sql.value = question.sql; reflect(); view("ask"); sql.focus(); });
  line.append(made("button", "Ask", { type: "submit", class: "main" }), edit);
  const text = made("details");
  text.append(made("summary", "SQL"), made("pre", question.sql.trim(), { tabindex: "0" }));
  box.append(line, text);
  box.hidden = false;
  box.onsubmit = event => {
    event.preventDefault();
    ask({ question: { name: question.name, values: Object.fromEntries(new FormData(box)) } });
  };
};
$("find-question").addEventListener("input", event => {
  const text = event.target.value.toLowerCase();
  catalog.questions.forEach((question, at) => {
    $("question-list").children[at].hidden = !(question.name + " " + question.title).toLowerCase().includes(text);
  });
});
$("sources").addEventListener("click", () => {
  sql.value = "SELECT name, dataset, platform, record_count, reject_count, size_bytes, ingested_at\nFROM files ORDER BY ingested_at DESC";
  reflect();
  view("ask");
  run();
});

// What others write meanwhile.
let listening = null, first = null, last = null;
const heard = news => {
  const at = performance.now(), total = {};
  for (const table of news.tables) rowsOf[table.name] = total[table.name] = table.rows;
  if (!first) first = { ...total };
  const grew = last ? news.tables.filter(table => table.rows !== (last.total[table.name] || 0)) : [];
  const lead = grew.find(table => table.name === "records") || grew[0];
  const main = ["records", "samples"].filter(name => total[name]).map(name => counted(total[name], name.slice(0, -1)));
  let text = main.join(" · ") || "empty store";
  if (lead) {
    const more = lead.rows - (last.total[lead.name] || 0), per = more / Math.max(0.001, (at - last.at) / 1000);
    text += " · " + (more > 0 ? "+" : "") + grouped(more) + (lead.name === "records" ? "" : " " + lead.name) + (more > 0 && at - last.at < 60000 ? " (" + grouped(Math.round(per)) + "/s)" : "");
    $("live").classList.add("busy");
    clearTimeout(heard.calm);
    heard.calm = setTimeout(() => $("live").classList.remove("busy"), 5000);
    if (answer && answer.isDone && !answer.isOld) { answer.isOld = true; answer.said += " · the store has changed since"; status(answer.said); }
  }
  $("live").classList.remove("gone");
  $("news").textContent = text;
  $("growth").replaceChildren(...news.tables.map(table => {
    const line = made("tr"), more = table.rows - (first[table.name] || 0);
    line.append(made("td", table.name), made("td", grouped(table.rows), { class: "n" }), made("td", more ? (more > 0 ? "+" : "") + grouped(more) : "", { class: "n" }), made("td", table.version, { class: "n" }));
    return line;
  }));
  last = { at, total };
  counts();
};
const listen = () => {
  if (listening) return;
  listening = new EventSource("news");
  listening.onmessage = event => heard(JSON.parse(event.data));
  listening.onerror = () => { $("live").classList.add("gone"); $("news").textContent = "no connection"; };
};
// A browser has few connections to a server: only what is looked at keeps one.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) listen();
  else if (listening) { listening.close(); listening = null; }
});

(async () => {
  try { catalog = await get("catalog"); } catch (error) { complain(asError(error)); return; }
  $("name").textContent = catalog.name;
  document.title = "tsql · " + catalog.name;
  for (const table of catalog.rows) rowsOf[table.name] = table.rows;
  // What has rows first.
  catalog.tables.sort((a, b) => Number((rowsOf[b.name] || 0) > 0) - Number((rowsOf[a.name] || 0) > 0));
  $("table-list").replaceChildren(...catalog.tables.map(tableShown));
  $("question-list").replaceChildren(...catalog.questions.map(questionShown));
  counts();
  listen();
  reflect();
  sql.focus({ preventScroll: true });
  root.dataset.ready = "1";
})();
})();
