// Charts of a result.
const chosen = {};
const selected = (name, options) => {
  const label = made("label", name), select = made("select");
  select.append(made("option", "auto", { value: "" }), ...options.map(option => made("option", option, { value: option })));
  select.addEventListener("change", () => { chosen[name] = select.value; draw(); });
  label.append(select);
  return label;
};
const wish = () => ({ ...chosen, spec: answer.plot || "" });
const open = () => {
  for (const name of Object.keys(chosen)) delete chosen[name];
  const names = answer.columns.map(column => column.name);
  const save = (text, form) => {
    const button = made("button", text, { type: "button" });
    button.addEventListener("click", () => download(form));
    return button;
  };
  $("drawing").replaceChildren(selected("kind", catalog.kinds), selected("x", names), selected("y", names), selected("by", names), selected("facet", names), selected("log", ["none", "x", "y", "xy"]), save("Save SVG", "svg"), save("Save PNG", "png"));
  $("picture").hidden = false;
  $("picture-open").setAttribute("aria-expanded", "true");
  draw();
};
$("picture-open").addEventListener("click", () => {
  if ($("picture").hidden) { open(); return; }
  $("picture").hidden = true;
  $("picture-open").setAttribute("aria-expanded", "false");
});
const drawn = async form => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const response = await post("answers/" + answer.id + "/picture", { drawn: wish(), form, is_dark: isDark });
  if (!response.ok) throw await told(response);
  return response;
};
let draws = 0;
const draw = async () => {
  const own = ++draws, box = document.querySelector("#picture .picture");
  try {
    const text = await (await drawn("page")).text();
    if (own !== draws) return;
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    box.replaceChildren(document.importNode(svg, true));
    tsqlPicture(box.querySelector("svg"));
  } catch (error) {
    if (own !== draws) return;
    const { message, hint } = asError(error);
    box.replaceChildren(made("p", message + (hint ? ". " + hint : ""), { role: "alert" }));
  }
};
const download = async form => {
  try {
    const blob = await (await drawn(form)).blob();
    const link = made("a", null, { href: URL.createObjectURL(blob), download: "answer." + form });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) { complain(asError(error)); }
};
