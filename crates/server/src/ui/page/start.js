// Start of the page: the catalog, and examples until the first query.
const EXAMPLES = [
  ["Records by platform and status", `SELECT platform, status, count(*) AS records, min(runtime_ns) AS fastest_ns
FROM records GROUP BY ALL ORDER BY ALL`],
  ["Fastest time of each graph", `SELECT platform, graph_id, count(*) AS records, min(runtime_ns) AS fastest_ns
FROM records WHERE status = 'ok' GROUP BY ALL ORDER BY fastest_ns`],
  ["Failures by message", `SELECT platform, error_message, count(*) AS records
FROM records WHERE status = 'failed' GROUP BY ALL ORDER BY records DESC`],
];
const exampleEntry = ([title, statement]) => {
  const item = createElement("li"), button = createButton(title, () => runSql(statement));
  button.append(createElement("code", statement.replace("\n", " ")));
  item.append(button);
  return item;
};
const tableShortcut = table => {
  const item = createElement("li"), button = createButton(table.name, () => runSql("SELECT * FROM " + table.name));
  button.append(" ", createElement("small", formatCount(table.rows, "row")));
  item.append(button);
  return item;
};
const showExamples = () => {
  const tables = catalog.rows.filter(table => table.rows);
  $("example-list").replaceChildren(...EXAMPLES.map(exampleEntry));
  $("table-shortcut-list").replaceChildren(...tables.map(tableShortcut));
  $("table-shortcuts").hidden = tables.length === 0;
};
(async () => {
  try { catalog = await getJson("catalog"); } catch (error) { showError(toError(error)); return; }
  $("store-name").textContent = catalog.name;
  document.title = "tsql · " + catalog.name;
  for (const table of catalog.rows) rowCounts[table.name] = table.rows;
  // Tables with rows first.
  catalog.tables.sort((a, b) => Number((rowCounts[b.name] || 0) > 0) - Number((rowCounts[a.name] || 0) > 0));
  $("table-list").replaceChildren(...catalog.tables.map(tableEntry));
  $("query-list").replaceChildren(...catalog.queries.map(queryEntry));
  showExamples();
  updateRowCounts();
  connectUpdates();
  updateMirror();
  sql.focus({ preventScroll: true });
  root.dataset.ready = "1";
})();
