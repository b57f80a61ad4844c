// The recent failures of actors, in a separate table. The panel is hidden while there are none.

import { arrange, attribute, byId, html, write } from "./dom.js";
import { clock, plain } from "./format.js";
import { processOf } from "./store.js";

/** Descriptions of what happened to an actor that failed. */
const EFFECTS = { stopped: "stopped", continued: "continues", resumed: "continues", restarted: "restarted", given_up: "not restarted" };

/** Severity of what happened: an actor that is gone is worse than one that was restarted. */
const LEVELS = { stopped: "critical", given_up: "critical", restarted: "warning", resumed: "warning", continued: "warning" };

/** Returns the texts of a row, in the order of the columns. */
const cells = (failure) => [
  clock(failure.unix_ms),
  plain(failure.name),
  failure.path === null ? "" : plain(failure.path),
  EFFECTS[failure.effect] ?? plain(failure.effect),
  failure.restarts === 0 ? "" : String(failure.restarts),
  plain(failure.reason),
  plain(failure.place),
];

export class Failures {
  constructor() {
    this.body = document.querySelector("#failures tbody");
    this.rows = new Map();
  }

  update(snapshot) {
    const failures = snapshot.recent_failures ?? [];
    byId("failures-panel").hidden = failures.length === 0;
    // Another process counts its failures from the beginning.
    const keys = failures.map((failure) => `${processOf(snapshot)}.${failure.number}`);
    write(byId("failures-count"), failures.length === 0 ? "" : `the last ${failures.length} of ${failures[0].number}`);
    this.rows = new Map(failures.map((failure, at) => [keys[at], this.rows.get(keys[at]) ?? this.row(failure)]));
    arrange(this.body, [...this.rows.values()]);
  }

  /** Creates the row of a failure. A failure never changes, so its row is created once. */
  row(failure) {
    const texts = cells(failure);
    const row = html("tr", {}, ...texts.map((text, column) => this.cell(text, column)));
    const effect = row.cells[3].firstChild;
    effect.className = "level";
    attribute(effect, "data-level", LEVELS[failure.effect] ?? "warning");
    return row;
  }

  cell(text, column) {
    const value = html("span", { dir: "auto" }, text);
    return html("td", { class: column === 4 ? "number" : column === 5 ? "wide" : null }, value);
  }
}
