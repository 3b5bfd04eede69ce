// Elements, number formats, requests, theme and views.
const $ = id => document.getElementById(id);
const createElement = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  return element;
};
const createButton = (text, onClick, attributes = {}) => {
  const button = createElement("button", text, { type: "button", ...attributes });
  button.addEventListener("click", onClick);
  return button;
};

// Appends text; parts between backticks become code.
const appendDoc = (element, text) => {
  element.append(...text.split("`").map((part, index) => index % 2 ? createElement("code", part) : part));
  return element;
};

// Thousands are separated by a narrow no-break space.
const formatInteger = number => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const formatCount = (number, noun) => formatInteger(number) + " " + noun + (number === 1 ? "" : "s");
const formatSeconds = seconds => (seconds < 10 ? seconds.toFixed(2) : Math.round(seconds)) + " s";

// Requests. An error has a message, a hint and a span in the query text.
const connectionError = { message: "no connection to the server", hint: "start `tsql ui` again", span: null };
const toError = error => {
  if (error && error.message && error.span !== undefined) return error;
  if (error instanceof TypeError) return connectionError;
  return { message: String((error && error.message) || error), hint: null, span: null };
};
const parseResponse = async response => {
  const body = await response.text();
  try { return JSON.parse(body); } catch { return { message: body.trim() || response.statusText, hint: null, span: null }; }
};
const getJson = async path => {
  const response = await fetch(path);
  if (!response.ok) throw await parseResponse(response);
  return response.json();
};
const postJson = (path, body, options = {}) => {
  const headers = { "content-type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body), ...options });
};

// Light and dark theme.
const root = document.documentElement;
const isDarkTheme = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
try { if (localStorage.theme) root.dataset.theme = localStorage.theme; } catch { /* no storage */ }
$("theme").addEventListener("click", () => {
  root.dataset.theme = isDarkTheme() ? "light" : "dark";
  try { localStorage.theme = root.dataset.theme; } catch { /* no storage */ }
});

// Views.
const showView = name => {
  document.body.dataset.view = name;
  document.querySelectorAll("nav [data-to]").forEach(button => {
    if (button.dataset.to === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  });
  if (name === "report" && !$("report").querySelector("iframe")) {
    // The report has its own script and is isolated from this page.
    $("report").append(createElement("iframe", null, { src: "store.html", sandbox: "allow-scripts allow-popups", title: "HTML report" }));
  }
};
document.querySelectorAll("nav [data-to]").forEach(button => button.addEventListener("click", () => showView(button.dataset.to)));
