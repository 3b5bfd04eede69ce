// Catalog: tables and built-in queries.
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
  // Elements are created on first view.
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
