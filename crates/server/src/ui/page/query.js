// Query execution. The response is a stream of JSON lines: see `query_stream.rs`.
let activeRequest = null;
const setRunning = isRunning => {
  $("run").disabled = isRunning;
  $("cancel").disabled = !isRunning;
  const button = $("query-form").querySelector("button.primary");
  if (button) button.disabled = isRunning;
};
const startResult = started => {
  result = { ...started, from: 0, rowCount: 0, order: null, isDone: false, isStale: false, summary: "" };
  if (started.query) result.plot = started.query.plot;
  closePlot();
  document.querySelector("#plot figure").replaceChildren();
  showHeadings();
  $("rows").querySelector("tbody").replaceChildren();
  $("goto").value = "";
  $("plot-toggle").disabled = true;
  updatePager();
};
const resultSummary = done => {
  const count = formatCount(done.rows, "row") + " in " + formatSeconds(done.seconds);
  const parts = [done.is_truncated ? "first " + count : count];
  if (done.is_truncated) parts.push("truncated at the size limit; `tsql -o FILE` writes all rows");
  if (done.empty_reason) parts.push(done.empty_reason);
  const values = result.query ? Object.entries(result.query.values) : [];
  if (values.length) parts.push(values.map(([name, value]) => name + " = " + value).join(", "));
  return parts.join(" · ");
};
const finishResult = done => {
  $("result-content").hidden = false;
  result.isDone = true;
  result.rowCount = done.rows;
  result.summary = resultSummary(done);
  showStatus(result.summary);
  updateSorting();
  $("plot-toggle").disabled = done.rows === 0;
  showPage(0);
  if (result.plot && done.rows) openPlot();
};
const showProgress = progress => {
  const state = progress.rows ? formatCount(progress.rows, "row") + " so far" : "running";
  showStatus(state + ", " + formatSeconds(progress.seconds));
  if (!result || !progress.rows) return;
  $("result-content").hidden = false;
  if (result.rowCount === 0) showPage(0);
  result.rowCount = progress.rows;
  updatePager();
};
// Yields the JSON lines of a response.
async function* responseLines(response) {
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
// Runs `{ sql }` or `{ query: { name, values } }`.
const runQuery = async query => {
  cancelQuery();
  discardResult();
  clearError();
  $("examples").hidden = true;
  $("result-content").hidden = true;
  showStatus("…");
  const request = activeRequest = new AbortController();
  setRunning(true);
  try {
    const response = await postJson("query", query, { signal: request.signal });
    if (!response.ok) throw await parseResponse(response);
    let isFinished = false;
    for await (const line of responseLines(response)) {
      if (activeRequest !== request) return;
      if (line.error) throw line.error;
      if (line.started) startResult(line.started);
      else if (line.done) { isFinished = true; finishResult(line.done); }
      else showProgress(line);
    }
    if (!isFinished) throw connectionError;
  } catch (error) {
    if (activeRequest !== request) return;
    if (error.name === "AbortError") {
      showStatus("cancelled" + (result && result.rowCount ? " after " + formatCount(result.rowCount, "row") : ""));
    } else {
      showStatus("");
      $("result-content").hidden = true;
      showError(toError(error));
    }
  } finally {
    if (activeRequest === request) { activeRequest = null; setRunning(false); }
  }
};
const cancelQuery = () => { if (activeRequest) activeRequest.abort(); };
const runEditor = () => { if (sql.value.trim()) runQuery({ sql: sql.value }); };
const runSql = text => {
  setSql(text);
  showView("query");
  runEditor();
};
$("run").addEventListener("click", runEditor);
$("cancel").addEventListener("click", cancelQuery);
addEventListener("keydown", event => { if (event.key === "Escape" && !$("value-dialog").open) cancelQuery(); });
