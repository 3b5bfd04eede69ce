// Plot of a result.
const plotOptions = {};
const plotSelect = (name, text, values) => {
  const label = createElement("label", text), select = createElement("select");
  select.append(createElement("option", "auto", { value: "" }), ...values.map(value => createElement("option", value, { value })));
  select.addEventListener("change", () => { plotOptions[name] = select.value; drawPlot(); });
  label.append(select);
  return label;
};
const openPlot = () => {
  for (const name of Object.keys(plotOptions)) delete plotOptions[name];
  const columns = result.columns.map(column => column.name), buttons = createElement("div", null, { class: "line" });
  buttons.append(
    createButton("Download SVG", () => downloadPlot("svg")),
    createButton("Download PNG", () => downloadPlot("png")),
  );
  $("plot-options").replaceChildren(
    plotSelect("kind", "Kind", catalog.chart_kinds),
    plotSelect("x", "X axis", columns),
    plotSelect("y", "Y axis", columns),
    plotSelect("by", "Color by", columns),
    plotSelect("facet", "Facet by", columns),
    plotSelect("log", "Log scale", ["none", "x", "y", "xy"]),
    buttons,
  );
  $("plot").hidden = false;
  $("plot-toggle").setAttribute("aria-expanded", "true");
  drawPlot();
};
const closePlot = () => {
  $("plot").hidden = true;
  $("plot-toggle").setAttribute("aria-expanded", "false");
};
$("plot-toggle").addEventListener("click", () => { if ($("plot").hidden) openPlot(); else closePlot(); });

// `format` is `page` for an interactive plot, `svg` or `png` for a file.
const requestPlot = async format => {
  const chart = { ...plotOptions, spec: result.plot || "" };
  const response = await postJson("results/" + result.id + "/plot", { chart, format, is_dark: isDarkTheme() });
  if (!response.ok) throw await parseResponse(response);
  return response;
};
let lastPlotRequest = 0;
const drawPlot = async () => {
  const request = ++lastPlotRequest, figure = document.querySelector("#plot figure");
  try {
    const text = await (await requestPlot("page")).text();
    if (request !== lastPlotRequest) return;
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    figure.replaceChildren(document.importNode(svg, true));
    tsqlChart(figure.querySelector("svg"));
  } catch (error) {
    if (request !== lastPlotRequest) return;
    const { message, hint } = toError(error);
    figure.replaceChildren(createElement("p", message + (hint ? ". Hint: " + hint : ""), { role: "alert" }));
  }
};
const downloadPlot = async format => {
  try {
    const blob = await (await requestPlot(format)).blob();
    const link = createElement("a", null, { href: URL.createObjectURL(blob), download: "plot." + format });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) { showError(toError(error)); }
};
