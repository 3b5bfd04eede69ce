"use strict";
// Interactive plots: tooltips, hidden series and zoom.
const tsqlChart = (() => {
const tooltip = document.getElementById("tooltip");
const each = (root, selector, act) => root.querySelectorAll(selector).forEach(act);
const parseAttribute = (element, name) => { try { return JSON.parse(element.getAttribute(name) || "null"); } catch { return null; } };

// Tooltips of the shape below the pointer.
const hideTooltip = () => { tooltip.hidden = true; };
const showTooltip = (event, text) => {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 6);
  const y = event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
  tooltip.style.left = Math.max(4, x) + "px";
  tooltip.style.top = Math.max(4, y) + "px";
};
const formatValue = (axis, value) => {
  if (!axis) return String(value);
  const [title, factor, names] = axis;
  if (names && names[value] !== undefined) return title + ": " + names[value];
  return title + ": " + Number((value / factor).toPrecision(5));
};
const nearestPoint = (svg, pointer) => {
  let best = null, minimum = 20 * 20;
  each(svg, ".panel", panel => {
    const axes = parseAttribute(panel, "data-axes");
    each(panel, ".series:not(.off)", series => {
      const line = series.querySelector("polyline");
      if (!line || !series.hasAttribute("data-x")) return;
      const data = series.plotData || (series.plotData = { x: parseAttribute(series, "data-x"), y: parseAttribute(series, "data-y") });
      const step = line.points.numberOfItems === data.x.length ? 1 : line.points.numberOfItems === 2 * data.x.length - 1 ? 2 : 0;
      for (let index = 0; step && index < data.x.length; index++) {
        const point = line.points.getItem(index * step);
        const distance = (point.x - pointer.x) ** 2 + (point.y - pointer.y) ** 2;
        if (distance < minimum) {
          minimum = distance;
          const name = series.dataset.series;
          best = (name ? name + "\n" : "") + formatValue(axes && axes[0], data.x[index]) + "\n" + formatValue(axes && axes[1], data.y[index]);
        }
      }
    });
  });
  return best;
};
const toSvgPoint = (svg, event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());

return svg => {
  // Native tooltips are slow, and missing on phones.
  each(svg, "title", title => { title.parentNode.tooltipText = title.textContent; title.remove(); });
  svg.addEventListener("pointermove", event => {
    let target = event.target;
    while (target && target !== svg && target.tooltipText === undefined) target = target.parentNode;
    const text = target && target !== svg ? target.tooltipText : nearestPoint(svg, toSvgPoint(svg, event));
    if (text) showTooltip(event, text); else hideTooltip();
  });
  svg.addEventListener("pointerleave", hideTooltip);

  // Legend entries toggle series.
  each(svg, ".entry", entry => entry.addEventListener("click", () => {
    const isOff = entry.classList.toggle("off");
    each(svg, ".series", series => {
      if (series.dataset.series === entry.dataset.series) series.classList.toggle("off", isOff);
    });
  }));

  // Zoom: Ctrl and the wheel, two buttons, dragging; a double click resets.
  const box = svg.viewBox.baseVal, fullView = [box.x, box.y, box.width, box.height];
  let view = fullView.slice();
  const isWide = svg.closest("figure").classList.contains("wide");
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  const zoom = (factor, x, y) => {
    const width = Math.min(fullView[2], Math.max(fullView[2] / 200, view[2] * factor));
    const height = view[3] * width / view[2];
    const left = x - (x - view[0]) * width / view[2], top = y - (y - view[1]) * height / view[3];
    view = [left, top, width, height];
    if (width >= fullView[2]) view = fullView.slice();
    show();
  };
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey && !isWide) return;
    event.preventDefault();
    const point = toSvgPoint(svg, event);
    zoom(Math.exp(event.deltaY / 400), point.x, point.y);
  }, { passive: false });
  svg.addEventListener("dblclick", () => { view = fullView.slice(); show(); });
  let from = null;
  svg.addEventListener("pointerdown", event => { if (view[2] < fullView[2] && event.pointerType === "mouse") { from = toSvgPoint(svg, event); svg.setPointerCapture(event.pointerId); } });
  svg.addEventListener("pointerup", () => { from = null; });
  svg.addEventListener("pointermove", event => {
    if (!from) return;
    const point = toSvgPoint(svg, event);
    view = [view[0] + from.x - point.x, view[1] + from.y - point.y, view[2], view[3]];
    show();
    hideTooltip();
  });
  const buttons = document.createElement("div");
  buttons.className = "zoom";
  const addButton = (text, title, act) => {
    const element = document.createElement("button");
    element.type = "button"; element.textContent = text; element.title = title;
    element.addEventListener("click", act);
    buttons.append(element);
  };
  const middle = () => [view[0] + view[2] / 2, view[1] + view[3] / 2];
  if (isWide) {
    addButton("+", "Larger", () => zoom(0.6, ...middle()));
    addButton("−", "Smaller", () => zoom(1 / 0.6, ...middle()));
    addButton("◻", "All of it", () => { view = fullView.slice(); show(); });
    svg.closest(".chart").append(buttons);
  }
};
})();
