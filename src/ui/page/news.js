// Live updates after writes of other processes.
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
// A browser limits the connections per server, so only the visible page keeps one.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) listen();
  else if (listening) { listening.close(); listening = null; }
});
