// Charts: a small line over time, a chart with axes, and the sizes of batches.

import { attribute, html, svg, write } from "./dom.js";
import { ceiling, clock, duration, percent, si } from "./format.js";

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
  // A short history starts at the left side instead of being squeezed against the right side.
  const stepOf = (count) => 1 / (Math.max(count, Math.min(points, POINTS_MIN)) - 1);
  /** Returns the position of a value, from 0 at the left to 1 at the right. */
  const place = (index, count) => 1 - (count - 1 - index) * stepOf(count);
  /** Returns the index of the value at a position. */
  const index = (at, count) => Math.min(count - 1, Math.max(0, Math.round(count - 1 - (1 - at) / stepOf(count))));
  const update = (series, top) => {
    const values = series.slice(-points);
    const step = width * stepOf(values.length);
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
  return { element, update, place, index };
}

const PLOT = { width: 300, height: 60 };

/**
 * Draws a chart of the last `points` values, with axes. The pointer and the arrow keys show single
 * values. `format` makes text from a value, and `top` is the minimum scale of the height.
 */
export function plot(label, points, name, format, top) {
  const line = spark(PLOT.width, PLOT.height, points, name);
  const [high, low, since, now] = [0, 1, 2, 3].map(() => html("span"));
  const [latest, read] = [html("b"), html("span", { class: "muted" })];
  const mark = html("i", { class: "cursor", hidden: true });
  const area = html("div", { class: "area", tabindex: "0", role: "img" }, line.element, mark);
  const element = html("figure", { class: "chart" },
    html("figcaption", {}, html("span", {}, label), latest, read),
    html("div", { class: "plot" }, html("div", { class: "y", "aria-hidden": "true" }, high, low), area, html("div", { class: "x", "aria-hidden": "true" }, since, now)));
  const shown = { values: [], times: [], at: null };
  const show = () => {
    const { values, times, at } = shown;
    const index = at === null ? null : Math.min(values.length - 1, Math.max(0, values.length - 1 - at));
    mark.hidden = index === null;
    if (index === null) {
      const known = values.filter((value) => value !== null);
      write(read, `max ${format(known.reduce((a, b) => Math.max(a, b), 0))}`);
      return;
    }
    mark.style.left = `${line.place(index, values.length) * 100}%`;
    write(read, `${format(values[index])} at ${clock(times[times.length - values.length + index])}`);
  };
  const point = (event) => {
    const box = area.getBoundingClientRect();
    shown.at = shown.values.length - 1 - line.index((event.clientX - box.left) / box.width, shown.values.length);
    show();
  };
  const leave = () => { shown.at = null; show(); };
  area.addEventListener("pointermove", point);
  area.addEventListener("pointerdown", point);
  area.addEventListener("pointerleave", leave);
  area.addEventListener("blur", leave);
  area.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 1, ArrowRight: -1, Home: Infinity, End: -Infinity }[event.key];
    if (step === undefined) return;
    shown.at = Math.min(shown.values.length - 1, Math.max(0, (shown.at ?? 0) + step));
    event.preventDefault();
    event.stopPropagation();
    show();
  });
  const update = (series, times) => {
    const known = series.filter((value) => value !== null);
    element.hidden = known.length === 0;
    if (known.length === 0) return;
    const scale = Math.max(top ?? 0, ceiling(known.reduce((a, b) => Math.max(a, b))));
    line.update(series, scale);
    Object.assign(shown, { values: series.slice(-points), times });
    const first = times[times.length - shown.values.length] ?? times[0];
    const reach = duration((times[times.length - 1] - first) / 1000);
    write(high, format(scale));
    write(low, format(0));
    write(since, `${reach} ago`);
    write(now, "now");
    write(latest, format(series.at(-1)));
    attribute(area, "aria-label", `${label}, last ${reach}, from ${format(0)} to ${format(scale)}, now ${format(series.at(-1))}. The arrow keys read single values.`);
    show();
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
