// Data of the page: the shown snapshot, and the last minutes of each item in it.

/**
 * Number of points kept of each series: ten minutes, one point a second, as in the process itself.
 */
const POINTS_MAX = 600;

/** Names of the values with a history: in the process, and in this page. */
const REMEMBERED = { rate: "rate", busy: "busy", waiting: "waiting", fill: "fill", turn_rate: "rate", idle: "busy", writing: "busy", sent_rate: "rate", received_rate: "received", entities: "entities", cpu: "cpu", resident_bytes: "memory" };

/** Returns the items with unique keys, also if `keyOf` returns equal texts for several of them. */
export function keyed(items, keyOf) {
  const counts = new Map();
  return items.map((item) => {
    const text = keyOf(item);
    const count = counts.get(text) ?? 0;
    counts.set(text, count + 1);
    return { key: `${text}\u0000${count}`, item };
  });
}

/** Returns a key of the process of a snapshot. In containers, all processes often have the number 1. */
export const processOf = ({ process }) => `${process.pid}.${process.started_unix_seconds ?? ""}`;

/** Values with a history, by kind of thing. */
const SERIES = {
  nodes: { rate: (node) => node.rate, busy: (node) => node.busy, waiting: (node) => node.waiting },
  edges: { rate: (edge) => edge.rate, fill: (edge) => share(edge) },
  sponsors: { rate: (sponsor) => sponsor.turn_rate, busy: (sponsor) => (sponsor.idle === null ? null : 1 - sponsor.idle) },
  journals: { rate: (journal) => journal.turn_rate, busy: (journal) => journal.writing, waiting: (journal) => journal.waiting_turns },
  members: {},
  links: { rate: (link) => link.sent_rate, received: (link) => link.received_rate, waiting: (link) => link.waiting_bytes },
  kinds: { entities: (kind) => kind.entities },
};

/** Returns the current fill of a channel, 0 to 1. */
export const share = (edge) => (edge.capacity > 0 ? edge.fill / edge.capacity : 0);

/** Returns the turns that hold a sponsor's workers, the longest first. */
export const longest = (sponsor) => sponsor.held.slice().sort((a, b) => b.seconds - a.seconds);

const KINDS = ["nodes", "edges", "sponsors", "journals", "members", "links", "kinds"];

export class Store {
  constructor() {
    this.snapshot = null;
    this.things = new Map();
    this.clear();
  }

  /** Forgets the history, because another process has taken the place of the previous one. */
  clear() {
    this.past = new Map();
    this.times = [];
    this.process = { cpu: [], memory: [], rate: [] };
  }

  /**
   * Adds a snapshot to the history. Returns true if it comes from another process than the last.
   */
  record(snapshot) {
    const before = this.last;
    const restarted = before !== undefined
      && (snapshot.sequence < before.sequence || processOf(snapshot) !== processOf(before));
    if (restarted) this.clear();
    else if (before !== undefined && snapshot.sequence === before.sequence) return false;
    this.last = snapshot;
    keep(this.times, snapshot.unix_ms);
    keep(this.process.cpu, snapshot.process.cpu);
    keep(this.process.memory, snapshot.process.resident_bytes);
    keep(this.process.rate, snapshot.nodes.reduce((sum, node) => sum + node.rate, 0));
    const past = new Map();
    for (const kind of KINDS) {
      for (const thing of snapshot[kind] ?? []) past.set(thing.id, this.extended(kind, thing));
    }
    this.past = past;
    return restarted;
  }

  extended(kind, thing) {
    let series = this.past.get(thing.id);
    if (series === undefined) {
      series = {};
      for (const name of Object.keys(SERIES[kind])) series[name] = [];
    }
    for (const [name, read] of Object.entries(SERIES[kind])) keep(series[name], read(thing));
    return series;
  }

  /** Shows the last snapshot. */
  show() {
    this.snapshot = this.last;
    this.things.clear();
    for (const kind of KINDS) {
      for (const thing of this.snapshot[kind] ?? []) this.things.set(thing.id, { kind, thing });
    }
  }

  /**
   * Merges the history of the process, so that a page opened late or reconnected has one at once.
   */
  remember(report) {
    if (this.last === undefined) return;
    const before = report.unix_ms.filter((time) => time < this.last.unix_ms).length;
    const start = Math.max(0, before - POINTS_MAX + 1);
    const extend = (list, values) => list.splice(0, list.length, ...values.slice(start, before), list.at(-1) ?? null);
    extend(this.times, report.unix_ms);
    const nodes = new Set(this.last.nodes.map((node) => node.id));
    const sum = report.unix_ms.map(() => null);
    for (const { id, probe, values } of report.series) {
      const list = (id === "process" ? this.process : this.past.get(id))?.[REMEMBERED[probe]];
      if (list === undefined) continue;
      extend(list, probe === "idle" ? values.map((value) => (value === null ? null : 1 - value)) : values);
      if (probe === "rate" && nodes.has(id)) values.forEach((value, at) => { sum[at] = value === null ? sum[at] : (sum[at] ?? 0) + value; });
    }
    extend(this.process.rate, sum);
  }

  /** Returns the history of a thing's value, the oldest first. Unknown values are `null`. */
  series(id, name) {
    return this.past.get(id)?.[name] ?? [];
  }

  /** Returns the length of the history in seconds. */
  reach() {
    const times = this.times;
    return times.length < 2 ? 0 : (times[times.length - 1] - times[0]) / 1000;
  }
}

function keep(list, value) {
  list.push(value ?? null);
  if (list.length > POINTS_MAX) list.shift();
}
