"use strict";
// Interactive plots: tooltips, hidden series and zoom.
const tsqlPicture = (() => {
const told = document.getElementById("told");
const each = (root, selector, act) => root.querySelectorAll(selector).forEach(act);
const parsed = (element, name) => { try { return JSON.parse(element.getAttribute(name) || "null"); } catch { return null; } };

// Tooltips of the shape below the pointer.
const hide = () => { told.hidden = true; };
const say = (event, text) => {
  told.textContent = text;
  told.hidden = false;
  const box = told.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 6);
  const y = event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
  told.style.left = Math.max(4, x) + "px";
  told.style.top = Math.max(4, y) + "px";
};
const written = (axis, value) => {
  if (!axis) return String(value);
  const [title, factor, names] = axis;
  if (names && names[value] !== undefined) return title + ": " + names[value];
  return title + ": " + Number((value / factor).toPrecision(5));
};
const nearest = (svg, at) => {
  let best = null, least = 20 * 20;
  each(svg, ".panel", panel => {
    const axes = parsed(panel, "data-axes");
    each(panel, ".series:not(.off)", series => {
      const line = series.querySelector("polyline");
      if (!line || !series.hasAttribute("data-x")) return;
      const kept = series.kept || (series.kept = { x: parsed(series, "data-x"), y: parsed(series, "data-y") });
      const step = line.points.numberOfItems === kept.x.length ? 1 : line.points.numberOfItems === 2 * kept.x.length - 1 ? 2 : 0;
      for (let place = 0; step && place < kept.x.length; place++) {
        const point = line.points.getItem(place * step);
        const far = (point.x - at.x) ** 2 + (point.y - at.y) ** 2;
        if (far < least) {
          least = far;
          const name = series.dataset.series;
          best = (name ? name + "\n" : "") + written(axes && axes[0], kept.x[place]) + "\n" + written(axes && axes[1], kept.y[place]);
        }
      }
    });
  });
  return best;
};
const place = (svg, event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());

return svg => {
  // Native tooltips are slow, and missing on phones.
  each(svg, "title", title => { title.parentNode.said = title.textContent; title.remove(); });
  svg.addEventListener("pointermove", event => {
    let target = event.target;
    while (target && target !== svg && target.said === undefined) target = target.parentNode;
    const text = target && target !== svg ? target.said : nearest(svg, place(svg, event));
    if (text) say(event, text); else hide();
  });
  svg.addEventListener("pointerleave", hide);

  // Legend entries toggle series.
  each(svg, ".entry", entry => entry.addEventListener("click", () => {
    const isOff = entry.classList.toggle("off");
    each(svg, ".series", series => {
      if (series.dataset.series === entry.dataset.series) series.classList.toggle("off", isOff);
    });
  }));

  // Zoom: Ctrl and the wheel, two buttons, dragging; a double click resets.
  const all = svg.viewBox.baseVal, whole = [all.x, all.y, all.width, all.height];
  let view = whole.slice();
  const isWide = svg.closest("figure").classList.contains("wide");
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  const zoom = (factor, x, y) => {
    const width = Math.min(whole[2], Math.max(whole[2] / 200, view[2] * factor));
    const height = view[3] * width / view[2];
    const left = x - (x - view[0]) * width / view[2], top = y - (y - view[1]) * height / view[3];
    view = [left, top, width, height];
    if (width >= whole[2]) view = whole.slice();
    show();
  };
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey && !isWide) return;
    event.preventDefault();
    const at = place(svg, event);
    zoom(Math.exp(event.deltaY / 400), at.x, at.y);
  }, { passive: false });
  svg.addEventListener("dblclick", () => { view = whole.slice(); show(); });
  let from = null;
  svg.addEventListener("pointerdown", event => { if (view[2] < whole[2] && event.pointerType === "mouse") { from = place(svg, event); svg.setPointerCapture(event.pointerId); } });
  svg.addEventListener("pointerup", () => { from = null; });
  svg.addEventListener("pointermove", event => {
    if (!from) return;
    const at = place(svg, event);
    view = [view[0] + from.x - at.x, view[1] + from.y - at.y, view[2], view[3]];
    show();
    hide();
  });
  const buttons = document.createElement("div");
  buttons.className = "zoom";
  const button = (text, title, act) => {
    const made = document.createElement("button");
    made.type = "button"; made.textContent = text; made.title = title;
    made.addEventListener("click", act);
    buttons.append(made);
  };
  const middle = () => [view[0] + view[2] / 2, view[1] + view[3] / 2];
  if (isWide) {
    button("+", "Larger", () => zoom(0.6, ...middle()));
    button("−", "Smaller", () => zoom(1 / 0.6, ...middle()));
    button("◻", "All of it", () => { view = whole.slice(); show(); });
    svg.closest(".picture").append(buttons);
  }
};
})();
