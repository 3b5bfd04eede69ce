// Query execution.
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
  document.querySelector("#picture .picture").replaceChildren();
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
