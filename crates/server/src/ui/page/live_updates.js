// Live updates of row counts, after writes of other processes.
let updates = null, firstRowCounts = null, lastUpdate = null;
const formatChange = change => (change > 0 ? "+" : "") + formatInteger(change);
const growthText = (table, now) => {
  const added = table.rows - (lastUpdate.rows[table.name] || 0), milliseconds = now - lastUpdate.time;
  const rate = formatInteger(Math.round(added / Math.max(0.001, milliseconds / 1000)));
  const name = table.name === "records" ? "" : " " + table.name;
  return " · " + formatChange(added) + name + (added > 0 && milliseconds < 60000 ? " (" + rate + "/s)" : "");
};
const markActivity = () => {
  $("live").classList.add("active");
  clearTimeout(markActivity.timer);
  markActivity.timer = setTimeout(() => $("live").classList.remove("active"), 5000);
};
const markStaleResult = () => {
  if (!result || !result.isDone || result.isStale) return;
  result.isStale = true;
  result.summary += " · the store has changed since this query";
  showStatus(result.summary);
};
const growthRow = table => {
  const row = createElement("tr"), added = table.rows - (firstRowCounts[table.name] || 0);
  const numbers = [formatInteger(table.rows), added ? formatChange(added) : "", table.version];
  row.append(createElement("td", table.name), ...numbers.map(text => createElement("td", text, { class: "n" })));
  return row;
};
const applyUpdate = update => {
  const now = performance.now(), rows = {};
  for (const table of update.tables) rowCounts[table.name] = rows[table.name] = table.rows;
  if (!firstRowCounts) firstRowCounts = { ...rows };
  const changed = lastUpdate ? update.tables.filter(table => table.rows !== (lastUpdate.rows[table.name] || 0)) : [];
  const main = ["records", "samples"].filter(name => rows[name]).map(name => formatCount(rows[name], name.slice(0, -1)));
  let text = main.join(" · ") || "empty store";
  if (changed.length) {
    text += growthText(changed.find(table => table.name === "records") || changed[0], now);
    markActivity();
    markStaleResult();
  }
  $("live").classList.remove("disconnected");
  $("live-status").textContent = text;
  $("live-tables").replaceChildren(...update.tables.map(growthRow));
  lastUpdate = { time: now, rows };
  updateRowCounts();
};
const connectUpdates = () => {
  if (updates) return;
  updates = new EventSource("updates");
  updates.onmessage = event => applyUpdate(JSON.parse(event.data));
  updates.onerror = () => { $("live").classList.add("disconnected"); $("live-status").textContent = "no connection"; };
};
// A browser limits the connections per server, so only the visible page has one.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) connectUpdates();
  else if (updates) { updates.close(); updates = null; }
});
