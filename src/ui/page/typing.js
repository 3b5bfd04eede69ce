// Editor: a mirror below the text has the same layout.
const sql = $("sql"), mirror = $("mirror"), words = $("words");
let span = null;
const indexOf = (text, place) => {
  const lines = text.split("\n");
  const line = Math.min(place.line, lines.length) - 1;
  const before = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
  return before + Array.from(lines[line]).slice(0, place.column - 1).join("").length;
};
const reflect = () => {
  mirror.replaceChildren();
  if (!span || span.text !== sql.value) { mirror.textContent = sql.value + "\n"; return; }
  const from = indexOf(sql.value, span), word = Array.from(sql.value.slice(from)).slice(0, span.length).join("");
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

// Completions.
let suggested = null, wanted = 0, pause = 0;
const close = () => {
  clearTimeout(pause);
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
  if (!isForced && !found.begun && !before.endsWith(".")) { close(); return; }
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
