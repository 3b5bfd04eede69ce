// Editor. A mirror below the text has the same layout; it marks errors and locates the cursor.
const sql = $("sql"), mirror = $("mirror"), completionList = $("completions");
let errorSpan = null;
const spanOffset = (text, span) => {
  const lines = text.split("\n");
  const line = Math.min(span.line, lines.length) - 1;
  const lineStart = lines.slice(0, line).reduce((sum, previous) => sum + previous.length + 1, 0);
  return lineStart + Array.from(lines[line]).slice(0, span.column - 1).join("").length;
};
const updateMirror = () => {
  mirror.replaceChildren();
  if (!errorSpan || errorSpan.text !== sql.value) { mirror.textContent = sql.value + "\n"; return; }
  const from = spanOffset(sql.value, errorSpan);
  const word = Array.from(sql.value.slice(from)).slice(0, errorSpan.length).join("");
  mirror.append(sql.value.slice(0, from), createElement("mark", word || " "), sql.value.slice(from + word.length) + "\n");
};
const cursorPosition = () => {
  const range = document.createRange();
  mirror.textContent = sql.value + "\n";
  range.setStart(mirror.firstChild, sql.selectionStart);
  range.collapse(true);
  const cursor = range.getBoundingClientRect(), editor = $("editor").getBoundingClientRect();
  updateMirror();
  return [cursor.left - editor.left, cursor.bottom - editor.top];
};
const setSql = text => {
  sql.value = text;
  updateMirror();
};
const replaceText = (from, to, text) => {
  sql.setRangeText(text, from, to, "end");
  updateMirror();
};
sql.addEventListener("scroll", () => { mirror.scrollTop = sql.scrollTop; });

// Completions.
let completions = null, lastCompletionRequest = 0, completionDelay = 0;
const closeCompletions = () => {
  clearTimeout(completionDelay);
  completions = null;
  lastCompletionRequest += 1;
  completionList.hidden = true;
  sql.setAttribute("aria-expanded", "false");
  sql.removeAttribute("aria-activedescendant");
};
const selectCompletion = index => {
  if (!completions) return;
  completions.selected = (index + completions.candidates.length) % completions.candidates.length;
  [...completionList.children].forEach((item, at) => {
    item.setAttribute("aria-selected", at === completions.selected);
    if (at === completions.selected) {
      item.scrollIntoView({ block: "nearest" });
      sql.setAttribute("aria-activedescendant", item.id);
    }
  });
};
const acceptCompletion = index => {
  const { prefix, candidates } = completions, end = sql.selectionStart;
  replaceText(end - prefix.length, end, candidates[index].value);
  closeCompletions();
  sql.focus();
};
const completionItem = (word, index) => {
  const item = createElement("li", null, { role: "option", id: "completion-" + index, "aria-selected": "false" });
  item.append(createElement("b", word.value.trim()), createElement("span", word.doc));
  item.addEventListener("mousedown", event => { event.preventDefault(); acceptCompletion(index); });
  return item;
};
const requestCompletions = async isForced => {
  const before = sql.value.slice(0, sql.selectionStart);
  if (!isForced && !/[\p{L}\p{N}_.]$/u.test(before)) { closeCompletions(); return; }
  const request = ++lastCompletionRequest;
  let found;
  try { found = await parseResponse(await postJson("completions", { text: sql.value, before })); } catch { return; }
  if (request !== lastCompletionRequest || !found.candidates || before !== sql.value.slice(0, sql.selectionStart)) return;
  const isComplete = found.candidates.length === 1 && found.candidates[0].value.trim() === found.prefix;
  if (!found.candidates.length || isComplete) { closeCompletions(); return; }
  if (!isForced && !found.prefix && !before.endsWith(".")) { closeCompletions(); return; }
  completions = { ...found, selected: -1 };
  completionList.replaceChildren(...found.candidates.map(completionItem));
  completionList.hidden = false;
  sql.setAttribute("aria-expanded", "true");
  const [x, y] = cursorPosition(), maximum = $("editor").clientWidth - completionList.offsetWidth;
  completionList.style.left = Math.max(0, Math.min(x, maximum)) + "px";
  completionList.style.top = Math.min(y + 4, $("editor").clientHeight) + "px";
  selectCompletion(0);
};
sql.addEventListener("input", () => {
  updateMirror();
  clearTimeout(completionDelay);
  completionDelay = setTimeout(() => requestCompletions(false), 120);
});
sql.addEventListener("blur", closeCompletions);
sql.addEventListener("click", closeCompletions);
sql.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); closeCompletions(); runEditor(); return; }
  if (event.ctrlKey && event.key === " ") { event.preventDefault(); requestCompletions(true); return; }
  if (!completions) return;
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (steps[event.key]) { event.preventDefault(); selectCompletion(completions.selected + steps[event.key]); }
  else if (event.key === "Tab" || event.key === "Enter") { event.preventDefault(); acceptCompletion(completions.selected); }
  else if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); closeCompletions(); }
  else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) closeCompletions();
});
