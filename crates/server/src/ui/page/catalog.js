// Catalog: tables, columns and built-in queries.
let catalog = { chart_kinds: [], tables: [], queries: [], platforms: [] };
const rowCounts = {};
const insertName = name => {
  showView("query");
  const at = sql.selectionStart, before = sql.value.slice(0, at);
  replaceText(at, sql.selectionEnd, (/[\s(,.]$|^$/.test(before) ? "" : " ") + name);
  sql.focus();
};
const columnRow = column => {
  const title = column.type + (column.unit ? ", " + column.unit : "") + ": " + column.doc;
  const row = createElement("tr", null, { title }), name = createElement("td");
  name.append(createButton(column.name, () => insertName(column.name)));
  row.append(name, createElement("td", column.type), createElement("td", column.unit || ""), appendDoc(createElement("td"), column.doc));
  return row;
};
const columnTable = columns => {
  const box = createElement("div", null, { class: "scroll" }), table = createElement("table", null, { class: "columns" });
  const head = createElement("thead"), headings = createElement("tr"), body = createElement("tbody");
  headings.append(...["column", "type", "unit", "description"].map(name => createElement("th", name, { scope: "col" })));
  head.append(headings);
  body.append(...columns.map(columnRow));
  table.append(head, body);
  box.append(table);
  return box;
};
const tableEntry = table => {
  const entry = createElement("details", null, { class: "table", "data-table": table.name }), summary = createElement("summary");
  summary.append(
    createElement("b", table.name),
    createElement("span", table.kind === "view" ? "view" : "", { class: "hint" }),
    createElement("span", "", { class: "count" }),
    appendDoc(createElement("span", null, { class: "doc" }), table.doc),
  );
  entry.append(summary);
  // Columns are rendered when the entry is opened first.
  entry.addEventListener("toggle", () => {
    if (!entry.open || entry.querySelector(".scroll")) return;
    const statement = "SELECT * FROM " + table.name, line = createElement("div", null, { class: "line" });
    line.append(createButton(statement, () => runSql(statement), { class: "code" }));
    entry.append(line, columnTable(table.columns));
  });
  return entry;
};
const updateRowCounts = () => document.querySelectorAll(".table").forEach(entry => {
  const rows = rowCounts[entry.dataset.table];
  entry.querySelector(".count").textContent = rows === undefined ? "" : formatCount(rows, "row");
});
$("table-search").addEventListener("input", event => {
  const text = event.target.value.toLowerCase();
  catalog.tables.forEach((table, index) => {
    const words = [table.name, table.doc, ...table.columns.map(column => column.name + " " + column.doc)];
    $("table-list").children[index].hidden = !words.join(" ").toLowerCase().includes(text);
  });
});

// Built-in queries.
const queryEntry = query => {
  const item = createElement("li"), button = createElement("button", query.name, { type: "button" });
  button.append(appendDoc(createElement("small"), query.title));
  button.addEventListener("click", () => {
    $("query-list").querySelectorAll("[aria-current]").forEach(other => other.removeAttribute("aria-current"));
    button.setAttribute("aria-current", "true");
    showQueryForm(query);
  });
  item.append(button);
  return item;
};
const formField = (name, input, doc) => {
  const label = createElement("label", name);
  label.append(input, appendDoc(createElement("span"), doc));
  return label;
};
const parameterField = parameter => {
  const { name, default: value, doc } = parameter;
  if (!parameter.is_platform) return formField(name, createElement("input", null, { name, value }), doc);
  const select = createElement("select", null, { name });
  const options = catalog.platforms.map(platform => createElement("option", platform, { value: platform }));
  select.append(createElement("option", "auto (most records)", { value: "" }), ...options);
  return formField(name, select, doc);
};
const fileField = ({ name, doc }) => {
  const input = createElement("input", null, { name, placeholder: "file path", disabled: !catalog.allows_files });
  return formField(name, input, doc + (catalog.allows_files ? "" : " (requires `tsql ui --allow-files`)"));
};
const showQueryForm = query => {
  const form = $("query-form"), line = createElement("div", null, { class: "line" }), details = createElement("details");
  const hasParameters = query.parameters.length + query.files.length > 0;
  line.append(
    createElement("button", "Run", { type: "submit", class: "primary" }),
    createButton("Edit SQL", () => {
      setSql(query.sql);
      showView("query");
      sql.focus();
    }, { disabled: hasParameters, title: hasParameters ? "Not available for a query with parameters" : null }),
  );
  details.append(createElement("summary", "SQL"), createElement("pre", query.sql.trim(), { tabindex: "0" }));
  form.replaceChildren(
    createElement("h2", query.name),
    appendDoc(createElement("p"), query.title),
    ...query.parameters.map(parameterField),
    ...query.files.map(fileField),
    line,
    details,
  );
  form.hidden = false;
  form.onsubmit = event => {
    event.preventDefault();
    runQuery({ query: { name: query.name, values: Object.fromEntries(new FormData(form)) } });
  };
};
$("query-search").addEventListener("input", event => {
  const text = event.target.value.toLowerCase();
  catalog.queries.forEach((query, index) => {
    $("query-list").children[index].hidden = !(query.name + " " + query.title).toLowerCase().includes(text);
  });
});
$("sources").addEventListener("click", () => runSql(
  "SELECT name, dataset, platform, record_count, reject_count, size_bytes, ingested_at\nFROM sources ORDER BY ingested_at DESC",
));
