// Small charts: a line over time, and the sizes of batches.

import { attribute, html, svg, write } from "./dom.js";
import { percent, si } from "./format.js";

/**
 * Minimum number of values that fill the width. Shorter lines would begin as a jump from side to
 * side.
 */
const POINTS_MIN = 10;

/**
 * Draws a line of the last `points` values, the newest at the right. `top` is the minimum scale of
 * the height.
 */
export function spark(width, height, points, name) {
  const area = svg("path", { class: "spark-area" });
  const line = svg("path", { class: "spark-line" });
  const element = svg("svg", { class: `spark ${name}`, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, area, line);
  const update = (series, top) => {
    const values = series.slice(-points);
    // A short history starts at the left side instead of being squeezed against the right side.
    const step = width / (Math.max(values.length, Math.min(points, POINTS_MIN)) - 1);
    const most = values.reduce((a, b) => Math.max(a, b ?? 0), top ?? 0) || 1;
    const start = width - (values.length - 1) * step;
    let [path, filled, open] = ["", "", null];
    values.forEach((value, index) => {
      const x = (start + index * step).toFixed(1);
      if (value === null) {
        open = null;
        return;
      }
      const y = (height - 1 - (value / most) * (height - 2)).toFixed(1);
      path += `${open === null ? "M" : "L"}${x} ${y}`;
      filled += `${open === null ? `M${x} ${height}` : ""}L${x} ${y}`;
      open = x;
      if (index + 1 === values.length || values[index + 1] === null) filled += `V${height}Z`;
    });
    attribute(line, "d", path);
    attribute(area, "d", filled);
  };
  return { element, update };
}

const range = (power) => {
  const [from, to] = [2 ** power, 2 ** (power + 1) - 1];
  return from === to ? "1" : `${si(from)}\u2013${si(to)}`;
};

/** Draws a bar for each power of two between the smallest batch and the largest. */
export function histogram() {
  const body = html("tbody");
  const element = html("table", { class: "bars" },
    html("caption", {}, "Batches by size"),
    html("thead", { class: "sr" }, html("tr", {}, ...["Messages", "Share", "Batches"].map((name) => html("th", { scope: "col" }, name)))), body);
  const update = (counts) => {
    const first = counts.findIndex((count) => count > 0);
    const shown = first < 0 ? [] : counts.slice(first);
    element.hidden = shown.length === 0;
    while (body.rows.length > shown.length) body.lastChild.remove();
    while (body.rows.length < shown.length) {
      body.append(html("tr", {}, html("th", { scope: "row" }), html("td", {}, html("i")), html("td")));
    }
    const sum = shown.reduce((a, b) => a + b, 0);
    const most = Math.max(...shown);
    shown.forEach((count, index) => {
      const [name, bar, number] = body.rows[index].cells;
      write(name, range(first + index));
      bar.firstChild.style.width = `${(count / most) * 100}%`;
      bar.title = `${si(count)} batches`;
      write(number, percent(count / sum));
    });
  };
  return { element, update };
}
