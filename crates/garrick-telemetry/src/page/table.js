// The tables: one sheet of rows with eight sets of columns. Sorts by any column and filters by text.

import { arrange, attribute, byId, html, write } from "./dom.js";
import { bytes, clock, load, percent, plain, rate, si, span, SIGNS } from "./format.js";
import { end, title } from "./details.js";
import { spark } from "./spark.js";
import { keyed, longest, share } from "./store.js";

/** Number of rows shown initially, and added with each press of the button. */
const ROWS = 100;
const SPARK = { width: 64, height: 20, points: 60 };

const RANK = { ok: 0, warning: 1, critical: 2 };
const text = (label, read, more = {}) => ({ label, read, show: read, ...more });
const number = (label, read, show = si, more = {}) => ({ label, read, show: (row, store) => show(read(row, store)), number: true, ...more });
const level = { label: "Level", read: (row) => RANK[row.level], show: (row) => (row.level === "ok" ? "ok" : `${SIGNS[row.level]} ${row.level}`), level: true, number: true, left: true, narrow: "sign" };
const name = { label: "Name", read: (row, store) => title(store, row), show: (row, store) => title(store, row), link: true };

/** Returns a number that is larger the more trouble a row has. */
const trouble = (row) => (row.state === "failed" ? 4 : 0) + (RANK[row.level] ?? 0) * 2 + (row.failures > 0 || row.restarts > 0 || row.dead_letters > 0 || row.failed_groups > 0 ? 1 : 0);

// The columns that show trouble come first, so that a phone shows them without scrolling.
const SHEETS = [
  { key: "nodes", label: "Stages & actors", rows: (snapshot) => snapshot.nodes, columns: [
    name, level, number("Failures", (row) => row.failures, si, { bad: true }), number("Restarts", (row) => row.restarts, si, { bad: true }), number("Waiting", (row) => row.waiting),
    number("Held", (row) => row.held_seconds, span), number("Wait, 99th", (row) => row.wait_seconds?.p99, span),
    number("Rate", (row) => row.rate, rate, { spark: "rate" }), number("Busy", (row) => row.busy, percent, { spark: "busy", top: 1 }),
    number("Starved", (row) => row.starved, percent), number("Back-pressured", (row) => row.back_pressured, percent),
    text("State", (row) => row.state), text("Place", (row) => plain(row.place)), text("Kind", (row) => row.kind),
    number("Messages", (row) => row.messages), number("Turns/s", (row) => row.turn_rate, rate),
    number("Alive", (row) => row.alive), number("Slow", (row) => row.slow), number("Away", (row) => row.away)] },
  { key: "edges", label: "Channels", rows: (snapshot) => snapshot.edges, columns: [
    name, level, number("Stalled", (row) => (row.stalled_seconds > 0 ? row.stalled_seconds : null), span), number("80th", (row) => row.fill_p80, percent, { load: true }),
    number("Filled", (row) => share(row), percent, { spark: "fill", top: 1 }), number("95th", (row) => row.fill_p95, percent),
    number("Rate", (row) => row.rate, rate, { spark: "rate" }),
    text("From", (row, store) => end(store, row.from)), text("To", (row, store) => end(store, row.to)), text("Message type", (row) => plain(row.message)),
    number("Total", (row) => row.total), number("Capacity", (row) => row.capacity),
    number("Sender waits", (row) => row.sender_stalls), number("Receiver waits", (row) => row.receiver_stalls)] },
  { key: "sponsors", label: "Sponsors", rows: (snapshot) => snapshot.sponsors, columns: [
    name, number("Dead letters", (row) => row.dead_letters, si, { bad: true }), number("Longest turn", (row) => longest(row)[0]?.seconds ?? null, span), text("Actor", (row) => (row.held.length > 0 ? plain(longest(row)[0].name) : "")),
    number("Wait, 99th", (row) => row.wait_seconds?.p99, span), number("Ready", (row) => row.ready), number("Rescues", (row) => row.rescues),
    number("Threads", (row) => row.workers), number("Idle", (row) => row.idle, percent),
    number("Turns/s", (row) => row.turn_rate, rate, { spark: "rate" }), number("Turns", (row) => row.turns),
    number("Given away", (row) => row.published), number("Taken over", (row) => row.claimed), number("Parks", (row) => row.parks)] },
  { key: "alerts", label: "Alerts", rows: (snapshot) => keyed(snapshot.alerts, (alert) => `${alert.on}\u0000${alert.probe}`).map(({ key, item }) => ({ ...item, id: key })), columns: [
    { label: "On", read: (row, store) => end(store, row.on), show: (row, store) => on(store, row), link: true, target: (row) => row.on }, level,
    text("Description", (row) => plain(row.text), { wide: true }),
    text("Probe", (row) => plain(row.probe)), number("Value", (row) => row.value), number("Threshold", (row) => row.threshold),
    number("Since", (row) => row.since_unix_ms, clock)] },
  { key: "journals", label: "Journals", rare: true, rows: (snapshot) => snapshot.journals ?? [], columns: [
    name, level, text("Phase", (row) => row.phase), number("Waiting", (row) => row.waiting_turns), number("Oldest wait", (row) => (row.waiting_turns > 0 ? row.oldest_wait_seconds : null), span),
    number("Failed groups", (row) => row.failed_groups, si, { bad: true }), number("Notices", (row) => row.notices, si, { bad: true }),
    number("Turns/s", (row) => row.turn_rate, rate, { spark: "rate" }), number("Disk", (row) => row.writing, percent, { spark: "busy", top: 1 }),
    number("Groups/s", (row) => row.group_rate, rate), number("Turns a group", (row) => row.group_turns), number("Mean group", (row) => row.group_seconds, span), number("Longest group", (row) => row.longest_group_seconds, span),
    number("Written", (row) => row.written_rate, (value) => si(value, "B/s")), number("Entities", (row) => row.entities), number("Size", (row) => row.size_bytes, bytes),
    number("Events", (row) => row.events), number("States read", (row) => row.recoveries)] },
  { key: "members", label: "Members", rare: true, rows: (snapshot) => snapshot.members ?? [], columns: [
    name, level, text("State", (row) => row.state), number("Last renewal", (row) => row.silent_seconds, span), number("Lease", (row) => row.own?.lease_seconds ?? null, span),
    number("Shards", (row) => row.owned_shards), number("Held turns", (row) => row.own?.held_turns ?? null, si, { bad: true }),
    text("Incarnation", (row) => row.incarnation), number("Epoch", (row) => row.epoch, String), text("Seen by", (row) => plain(row.local)),
    number("Memberships lost", (row) => row.own?.lost ?? null, si, { bad: true }), number("Claimed", (row) => row.own?.claimed_shards ?? null), number("Handed over", (row) => row.own?.handed_over_shards ?? null)] },
  { key: "links", label: "Links", rare: true, rows: (snapshot) => snapshot.links ?? [], columns: [
    name, level, text("State", (row) => row.state), number("Lost", (row) => row.lost_messages, si, { bad: true }), number("Waiting", (row) => row.waiting_frames), number("Last frame", (row) => row.silent_seconds, span),
    number("Sent/s", (row) => row.sent_rate, rate, { spark: "rate" }), number("Received/s", (row) => row.received_rate, rate, { spark: "received" }),
    number("Refused", (row) => row.refused_messages, si, { bad: true }), number("Unconfirmed", (row) => row.unconfirmed_messages), number("Connects", (row) => row.connects),
    number("Credit", (row) => row.credit_bytes, bytes), number("Questions", (row) => row.questions), number("Sent", (row) => row.sent_byte_rate, (value) => si(value, "B/s")), number("Received", (row) => row.received_byte_rate, (value) => si(value, "B/s")),
    text("Of", (row) => plain(row.local))] },
  { key: "kinds", label: "Entities", rare: true, rows: (snapshot) => snapshot.kinds ?? [], columns: [
    name, level, number("No owner", (row) => row.unowned_shards, si, { bad: true }), number("Waiting", (row) => row.waiting_messages), number("Entities", (row) => row.entities, si, { spark: "entities" }),
    number("Shards here", (row) => row.owned_shards), number("Shards", (row) => row.shards), number("Handing over", (row) => row.handing_over_shards),
    number("Expired", (row) => row.expired_messages, si, { bad: true }), number("Strays", (row) => row.stray_messages, si, { bad: true }), number("Abandoned", (row) => row.abandoned_entities, si, { bad: true }),
    number("Created", (row) => row.created), number("Idle stops", (row) => row.passivated), text("Runs here", (row) => (row.is_hosted ? "yes" : "no")), text("Of", (row) => plain(row.local))] },
];

function on(store, alert) {
  const entry = store.things.get(alert.on);
  return entry === undefined ? plain(alert.on) : title(store, entry.thing);
}

export class Table {
  /**
   * Creates the tables. `onSelect(id)` is called with the selected id, `onFilter()` when the filter
   * changes.
   */
  constructor(onSelect, onFilter) {
    this.onSelect = onSelect;
    this.onFilter = onFilter;
    this.head = document.querySelector("#sheet thead");
    this.body = document.querySelector("#sheet tbody");
    this.filter = byId("filter");
    this.order = {};
    this.tabs = SHEETS.map((sheet, index) => this.tab(sheet, index));
    byId("tabs").append(...this.tabs.map((tab) => tab.button));
    byId("tabs").addEventListener("keydown", (event) => this.walk(event));
    this.filter.addEventListener("input", () => this.onFilter());
    byId("more").addEventListener("click", () => { this.limit += ROWS; this.onFilter(); });
    this.choose(0);
  }

  tab(sheet, index) {
    const count = html("span", { class: "tally" });
    const button = html("button", { type: "button", role: "tab", id: `tab-${sheet.key}`, "aria-controls": "sheet", "aria-keyshortcuts": index + 1, onclick: () => this.choose(index, true) }, sheet.label, " ", count);
    button.hidden = sheet.rare === true;
    return { button, count };
  }

  /** Moves from tab to tab with the arrow keys. */
  walk(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    const offered = SHEETS.map((_, index) => index).filter((index) => !this.tabs[index].button.hidden);
    const now = offered.indexOf(SHEETS.indexOf(this.sheet));
    const next = offered[(now + step + offered.length) % offered.length];
    this.choose(next, true);
    this.tabs[next].button.focus();
    event.preventDefault();
  }

  choose(index, redraw = false) {
    if (this.tabs[index].button.hidden) return;
    this.sheet = SHEETS[index];
    this.limit = ROWS;
    this.rows = new Map();
    this.body.replaceChildren();
    this.tabs.forEach(({ button }, at) => {
      attribute(button, "aria-selected", at === index);
      attribute(button, "tabindex", at === index ? "0" : "-1");
    });
    attribute(byId("sheet"), "aria-labelledby", `tab-${this.sheet.key}`);
    this.head.replaceChildren(html("tr", {}, ...this.sheet.columns.map((column) => this.header(column))));
    this.mark();
    if (redraw) this.onFilter();
  }

  header(column) {
    const button = html("button", { type: "button", onclick: () => this.sort(column) }, column.label, html("span", { class: "arrow", "aria-hidden": "true" }));
    const words = [column.number && !column.left ? "number" : null, column.narrow ?? null].filter((word) => word !== null);
    return html("th", { scope: "col", class: words.length > 0 ? words.join(" ") : null }, button);
  }

  /** Sorts by a column: numbers descending, text ascending. Then reverses, then removes the order. */
  sort(column) {
    const first = column.number ? "descending" : "ascending";
    const second = column.number ? "ascending" : "descending";
    const now = this.order[this.sheet.key];
    const next = now?.column !== column ? first : now.way === first ? second : null;
    this.order[this.sheet.key] = next === null ? undefined : { column, way: next };
    this.mark();
    this.onFilter();
  }

  mark() {
    const now = this.order[this.sheet.key];
    [...this.head.rows[0].cells].forEach((cell, index) => {
      const way = now?.column === this.sheet.columns[index] ? now.way : null;
      attribute(cell, "aria-sort", way ?? "none");
      write(cell.querySelector(".arrow"), way === null ? "" : way === "ascending" ? "\u25b2" : "\u25bc");
    });
  }

  /** Returns the ids of the rows of all sheets that match the filter, or `null` without a filter. */
  matches(store) {
    const words = this.words();
    if (words.length === 0) return null;
    const ids = new Set();
    for (const sheet of SHEETS) for (const row of this.passing(sheet, store, words)) ids.add(row.id);
    return ids;
  }

  words() {
    return this.filter.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  }

  /** Returns the rows of a sheet whose texts contain all words of the filter. */
  passing(sheet, store, words) {
    const rows = sheet.rows(store.snapshot);
    if (words.length === 0) return rows;
    const columns = sheet.columns.filter((column) => !column.number || column.level);
    return rows.filter((row) => {
      const all = columns.map((column) => column.show(row, store)).join("\n").toLowerCase();
      return words.every((word) => all.includes(word));
    });
  }

  /** Returns the rows in the chosen order. The rows with the most trouble come first by default. */
  sorted(rows, store) {
    const now = this.order[this.sheet.key];
    if (now === undefined) return rows.slice().sort((a, b) => trouble(b) - trouble(a));
    const turn = now.way === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => ({ row, key: now.column.read(row, store) }));
    // Unknown values come last in both directions.
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return turn * (typeof a.key === "string" ? a.key.localeCompare(b.key, undefined, { numeric: true }) : a.key - b.key);
    });
    return keyed.map(({ row }) => row);
  }

  update(store, selected) {
    const words = this.words();
    const all = this.sheet.rows(store.snapshot);
    const passing = this.passing(this.sheet, store, words);
    const shown = this.sorted(passing, store).slice(0, this.limit);
    const rows = new Map(shown.map((row) => [row.id, this.rows.get(row.id) ?? this.row(row)]));
    shown.forEach((row) => this.fill(rows.get(row.id), row, store, selected));
    this.rows = rows;
    const focus = this.body.contains(document.activeElement) ? document.activeElement : null;
    arrange(this.body, [...rows.values()].map((parts) => parts.line));
    if (focus !== null && focus.isConnected && document.activeElement !== focus) focus.focus({ preventScroll: true });
    this.count(store, all.length, passing.length, shown.length);
  }

  count(store, all, passing, shown) {
    write(byId("count"), passing === all ? `${all}` : `${passing} of ${all}`);
    this.tabs.forEach(({ count, button }, index) => {
      const number = SHEETS[index].rows(store.snapshot).length;
      write(count, String(number));
      // Most processes have none of them. A table that was chosen stays.
      button.hidden = number === 0 && SHEETS[index].rare === true && SHEETS[index] !== this.sheet;
    });
    const rest = passing - shown;
    byId("more").hidden = rest === 0;
    write(byId("more"), `Show ${Math.min(rest, ROWS)} more of ${rest}`);
    byId("table-empty").hidden = shown > 0;
    write(byId("table-empty"), all === 0 ? `No ${this.sheet.label.toLowerCase()}.` : "Nothing passes the filter.");
  }

  row(row) {
    const cells = this.sheet.columns.map((column) => this.cell(column, row));
    const line = html("tr", {}, ...cells.map((cell) => cell.element));
    return { line, cells };
  }

  cell(column, row) {
    if (column.link) {
      const target = (column.target ?? ((one) => one.id))(row);
      const value = html("button", { type: "button", class: "link name", dir: "auto", onclick: () => this.onSelect(target) });
      return { value, element: html("th", { scope: "row" }, value) };
    }
    const value = html("span", { class: column.number ? null : "name" });
    const line = column.spark === undefined ? null : spark(SPARK.width, SPARK.height, SPARK.points, column.spark);
    const element = html("td", { class: column.narrow ? column.narrow : column.wide ? "wide" : line !== null ? "number drawn" : column.number && !column.left ? "number" : null }, ...(line === null ? [] : [line.element]), value);
    if (column.level) value.className = "level";
    return { value, element, line };
  }

  fill(parts, row, store, selected) {
    attribute(parts.line, "aria-selected", row.id === selected || row.on === selected ? "true" : null);
    parts.cells.forEach(({ value, element, line }, index) => {
      const column = this.sheet.columns[index];
      write(value, column.show(row, store));
      if (column.link) {
        attribute(value, "title", value.textContent);
        attribute(element, "data-level", row.state === "failed" ? "critical" : row.level ?? "ok");
      }
      if (column.bad) attribute(value, "data-bad", column.read(row, store) > 0 ? "" : null);
      line?.update(store.series(row.id, column.spark), column.top);
      if (column.load) attribute(element, "data-load", load(row.fill_p80));
      if (column.level) attribute(value, "data-level", row.level);
    });
  }
}

export const SHEET_COUNT = SHEETS.length;
