// What the page knows: the snapshot shown, and the last minutes of each thing in it.

/** Points kept of each series: five minutes at one a second. */
const POINTS_MAX = 300;

/** Which values of which things have a history. */
const SERIES = {
  nodes: { rate: (node) => node.rate, busy: (node) => node.busy, depth: (node) => node.depth },
  edges: { rate: (edge) => edge.rate, fill: (edge) => share(edge) },
  sponsors: { rate: (sponsor) => sponsor.turn_rate, busy: (sponsor) => (sponsor.idle === null ? null : 1 - sponsor.idle) },
};

/** How full a channel is now, 0 to 1. */
export const share = (edge) => (edge.capacity > 0 ? edge.fill / edge.capacity : 0);

const KINDS = ["nodes", "edges", "sponsors"];

export class Store {
  constructor() {
    this.snapshot = null;
    this.things = new Map();
    this.clear();
  }

  /** Forgets the past: another process is there now. */
  clear() {
    this.past = new Map();
    this.times = [];
    this.process = { cpu: [], memory: [], rate: [] };
  }

  /** Takes a snapshot into the past. True when the process is not the one of before. */
  record(snapshot) {
    const before = this.last;
    const restarted = before !== undefined
      && (snapshot.sequence < before.sequence || snapshot.process.pid !== before.process.pid);
    if (restarted) this.clear();
    else if (before !== undefined && snapshot.sequence === before.sequence) return false;
    this.last = snapshot;
    keep(this.times, snapshot.unix_ms);
    keep(this.process.cpu, snapshot.process.cpu);
    keep(this.process.memory, snapshot.process.resident_bytes);
    keep(this.process.rate, snapshot.nodes.reduce((sum, node) => sum + node.rate, 0));
    const past = new Map();
    for (const kind of KINDS) {
      for (const thing of snapshot[kind]) past.set(thing.id, this.extended(kind, thing));
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

  /** Makes the last snapshot the one that is shown. */
  show() {
    this.snapshot = this.last;
    this.things.clear();
    for (const kind of KINDS) {
      for (const thing of this.snapshot[kind]) this.things.set(thing.id, { kind, thing });
    }
  }

  /** The past of a value of a thing, the oldest first; `null` where it was not known. */
  series(id, name) {
    return this.past.get(id)?.[name] ?? [];
  }

  /** Seconds that the past reaches back. */
  reach() {
    const times = this.times;
    return times.length < 2 ? 0 : (times[times.length - 1] - times[0]) / 1000;
  }
}

function keep(list, value) {
  list.push(value ?? null);
  if (list.length > POINTS_MAX) list.shift();
}
