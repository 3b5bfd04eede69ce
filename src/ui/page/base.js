const $ = id => document.getElementById(id);
const made = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  return element;
};
const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const counted = (number, noun) => grouped(number) + " " + noun + (number === 1 ? "" : "s");
const headers = { "content-type": "application/json" };
const told = async response => {
  const body = await response.text();
  try { return JSON.parse(body); } catch { return { message: body.trim() || response.statusText, hint: null, span: null }; }
};
const get = async path => {
  const response = await fetch(path);
  if (!response.ok) throw await told(response);
  return response.json();
};
const post = (path, body, rest = {}) => fetch(path, { method: "POST", headers, body: JSON.stringify(body), ...rest });
const gone = "the server has ended: start `tsql ui` again";
const asError = error => error && error.message && error.span !== undefined ? error : { message: error instanceof TypeError ? gone : String(error && error.message || error), hint: null, span: null };

// Light and dark theme.
const root = document.documentElement;
try { if (localStorage.theme) root.dataset.theme = localStorage.theme; } catch { /* not kept */ }
$("theme").addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.theme = root.dataset.theme; } catch { /* not kept */ }
});

// Views.
const view = name => {
  document.body.dataset.view = name;
  document.querySelectorAll("nav [data-to]").forEach(button => {
    if (button.dataset.to === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  });
  if (name === "store" && !$("store").querySelector("iframe")) {
    // The report has its own script and is isolated from this page.
    $("store").append(made("iframe", null, { src: "store.html", sandbox: "allow-scripts allow-popups", title: "The page of the store" }));
  }
};
document.querySelectorAll("nav [data-to]").forEach(button => button.addEventListener("click", () => view(button.dataset.to)));
