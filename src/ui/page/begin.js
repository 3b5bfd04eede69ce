(async () => {
  try { catalog = await get("catalog"); } catch (error) { complain(asError(error)); return; }
  $("name").textContent = catalog.name;
  document.title = "tsql · " + catalog.name;
  for (const table of catalog.rows) rowsOf[table.name] = table.rows;
  // Tables with rows first.
  catalog.tables.sort((a, b) => Number((rowsOf[b.name] || 0) > 0) - Number((rowsOf[a.name] || 0) > 0));
  $("table-list").replaceChildren(...catalog.tables.map(tableShown));
  $("question-list").replaceChildren(...catalog.questions.map(questionShown));
  counts();
  listen();
  reflect();
  sql.focus({ preventScroll: true });
  root.dataset.ready = "1";
})();
