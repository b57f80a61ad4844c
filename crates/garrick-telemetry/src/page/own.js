// The table of the metrics that the program itself records: one row for each series.

import { arrange, attribute, byId, html, write } from "./dom.js";
import { plain, rate, si, span } from "./format.js";

/** Maximum number of rows. `/metrics` has the others. */
const ROWS_MAX = 200;

/** Formats a value of a metric. The name of a metric ends in its unit. */
const value = (metric, number) => (metric.name.endsWith("_seconds") ? span(number) : si(number));

const labels = (series) => Object.entries(series.labels).map(([name, text]) => `${plain(name)}=${plain(text)}`).join(", ");

const COLUMNS = [
  { label: "Metric", show: (metric) => plain(metric.name) },
  { label: "Labels", show: (metric, series) => labels(series), wide: true },
  { label: "Kind", show: (metric) => metric.kind },
  { label: "Value", show: (metric, series) => (metric.kind === "gauge" ? value(metric, series.value) : si(series.value)), number: true },
  { label: "Rate", show: (metric, series) => (metric.kind === "gauge" ? "" : rate(series.rate)), number: true },
  { label: "Median", show: (metric, series) => (series.histogram === null ? "" : value(metric, series.histogram.p50)), number: true },
  { label: "99th", show: (metric, series) => (series.histogram === null ? "" : value(metric, series.histogram.p99)), number: true },
];

export class Own {
  constructor() {
    const heads = COLUMNS.map(({ label, number }) => html("th", { scope: "col", class: number ? "number" : null }, label));
    document.querySelector("#own thead").append(html("tr", {}, ...heads));
    this.body = document.querySelector("#own tbody");
    this.rows = new Map();
  }

  /** Shows the series whose names or labels contain all of `words`. */
  update(snapshot, words) {
    byId("own").hidden = snapshot.metrics.length === 0;
    const all = snapshot.metrics.flatMap((metric) => metric.series.map((series) => ({ metric, series, key: metric.name + JSON.stringify(series.labels) })));
    const text = ({ metric, series }) => `${metric.name} ${labels(series)}`.toLowerCase();
    const passing = words.length === 0 ? all : all.filter((row) => words.every((word) => text(row).includes(word)));
    const shown = passing.slice(0, ROWS_MAX);
    const rows = new Map(shown.map(({ key }) => [key, this.rows.get(key) ?? this.row()]));
    for (const { metric, series, key } of shown) {
      const { line, cells } = rows.get(key);
      attribute(line, "title", plain(metric.help));
      cells.forEach((cell, index) => write(cell, COLUMNS[index].show(metric, series)));
    }
    this.rows = rows;
    arrange(this.body, [...rows.values()].map(({ line }) => line));
    this.count(snapshot, all.length, passing.length, shown.length);
  }

  row() {
    const cells = COLUMNS.map(({ number, wide }, index) => html(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : null, class: number ? "number" : wide ? "labels" : null }));
    return { line: html("tr", {}, ...cells), cells };
  }

  count(snapshot, all, passing, shown) {
    const refused = Object.values(snapshot.metrics_refused).reduce((sum, count) => sum + count, 0);
    const counted = passing === all ? `${all} series` : `${passing} of ${all} series`;
    write(byId("own-count"), refused === 0 ? counted : `${counted}, ${si(refused)} uses refused`);
    byId("own-more").hidden = shown === passing;
    write(byId("own-more"), `${passing - shown} more are at /metrics.`);
  }
}
