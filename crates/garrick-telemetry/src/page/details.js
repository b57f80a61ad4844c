// All details of the selected item.

import { arrange, attribute, byId, html, write } from "./dom.js";
import { bytes, clock, cores, duration, percent, plain, rate, si, span, SIGNS } from "./format.js";
import { histogram, plot, spark } from "./spark.js";
import { keyed, longest, share } from "./store.js";

/** Number of points, equal to the store's. */
const POINTS = 600;

const level = (thing) => (thing.level === "ok" ? "ok" : `${SIGNS[thing.level]} ${thing.level}`);

/** Returns a value of a histogram of seconds, or an empty text if there is none. */
const percentile = (durations, key) => (durations ? span(durations[key]) : "");

const PROBES = {
  nodes: [
    ["State", (node) => node.state], ["Level", level], ["Place", (node) => plain(node.place)],
    ["Rate", (node) => rate(node.rate)], ["Messages", (node) => si(node.messages)],
    ["Busy share of one core", (node) => percent(node.busy)],
    ["Starved: waits for messages", (node) => percent(node.starved)], ["Back-pressured: waits for room", (node) => percent(node.back_pressured)],
    ["Turns", (node) => si(node.turns)], ["Turns per second", (node) => rate(node.turn_rate)],
    ["Actors alive", (node) => si(node.alive)], ["Messages waiting", (node) => si(node.waiting)], ["Longest mailbox", (node) => si(node.longest)],
    ["Growth of the mailboxes", (node) => rate(node.growth)],
    ["Median turn", (node) => percentile(node.turn_seconds, "p50")], ["99th percentile of turns", (node) => percentile(node.turn_seconds, "p99")], ["Longest turn, at most", (node) => percentile(node.turn_seconds, "max")],
    ["Median time in a mailbox", (node) => percentile(node.wait_seconds, "p50")], ["99th percentile of these times", (node) => percentile(node.wait_seconds, "p99")], ["Longest time in a mailbox, at most", (node) => percentile(node.wait_seconds, "max")],
    ["Failures", (node) => si(node.failures)], ["Restarts", (node) => si(node.restarts)], ["Slow turns", (node) => si(node.slow)],
    ["Longest current turn", (node) => span(node.held_seconds)],
    ["Turns in cx.blocking", (node) => si(node.away)], ["Longest in cx.blocking", (node) => span(node.away_seconds)],
  ],
  edges: [
    ["Level", level], ["Message type", (edge) => plain(edge.message)],
    ["Rate", (edge) => rate(edge.rate)], ["Total", (edge) => si(edge.total)],
    ["Filled now", (edge) => `${percent(share(edge))} (${si(edge.fill)})`], ["Capacity", (edge) => si(edge.capacity)],
    ["Filled, 80th percentile", (edge) => percent(edge.fill_p80)], ["Filled, 95th percentile", (edge) => percent(edge.fill_p95)],
    ["Sender waits", (edge) => si(edge.sender_stalls)], ["Receiver waits", (edge) => si(edge.receiver_stalls)],
    ["Full, and nothing taken for", (edge) => span(edge.stalled_seconds)],
    ["Open", (edge) => (edge.closed ? "closed" : "yes")],
  ],
  sponsors: [
    ["Threads", (sponsor) => si(sponsor.workers)], ["Idle", (sponsor) => percent(sponsor.idle)],
    ["Turns", (sponsor) => si(sponsor.turns)], ["Turns per second", (sponsor) => rate(sponsor.turn_rate)],
    ["Actors given away", (sponsor) => si(sponsor.published)], ["Actors taken over", (sponsor) => si(sponsor.claimed)],
    ["Actors ready to run", (sponsor) => si(sponsor.ready)], ["Turns run for a busy worker", (sponsor) => si(sponsor.rescues)],
    ["Median wait of messages", (sponsor) => percentile(sponsor.wait_seconds, "p50")], ["99th percentile of the waits", (sponsor) => percentile(sponsor.wait_seconds, "p99")], ["Longest wait, at most", (sponsor) => percentile(sponsor.wait_seconds, "max")],
    ["Thread sleeps", (sponsor) => si(sponsor.parks)], ["Dead letters", (sponsor) => si(sponsor.dead_letters)],
  ],
  journals: [
    ["Phase", (journal) => (journal.opening_bytes === null ? journal.phase : `${journal.phase}: ${bytes(journal.opening_read_bytes)} of ${bytes(journal.opening_bytes)}`)], ["Level", level],
    ["Turns per second", (journal) => rate(journal.turn_rate)], ["Turns", (journal) => si(journal.turns)],
    ["Turns that wait for the disk", (journal) => si(journal.waiting_turns)], ["Oldest of them", (journal) => span(journal.oldest_wait_seconds)],
    ["Groups per second", (journal) => rate(journal.group_rate)], ["Groups", (journal) => si(journal.groups)], ["Groups that failed", (journal) => si(journal.failed_groups)],
    ["Turns in a group", (journal) => si(journal.group_turns)], ["Mean time of a group", (journal) => span(journal.group_seconds)], ["Longest group", (journal) => span(journal.longest_group_seconds)],
    ["Time that the disk takes", (journal) => percent(journal.writing)],
    ["Written per second", (journal) => si(journal.written_rate, "B/s")], ["Written", (journal) => bytes(journal.written_bytes)], ["Syncs", (journal) => si(journal.syncs)],
    ["Events", (journal) => si(journal.events)], ["Bytes of events", (journal) => bytes(journal.event_bytes)],
    ["Entities", (journal) => si(journal.entities)], ["States that were read", (journal) => si(journal.recoveries)], ["Events read for them", (journal) => si(journal.recovered_events)], ["Time of these reads", (journal) => span(journal.recovery_seconds)],
    ["Files", (journal) => si(journal.segments)], ["Size", (journal) => bytes(journal.size_bytes)],
    ["Saved states", (journal) => si(journal.saved_states)], ["Compactions", (journal) => si(journal.compactions)], ["Copied by them", (journal) => bytes(journal.copied_bytes)],
    ["Notices", (journal) => si(journal.notices)],
  ],
  members: [
    ["State", (member) => member.state], ["Level", level], ["Seen by", (member) => plain(member.local)],
    ["Last renewal before", (member) => span(member.silent_seconds)],
    ["Shards", (member) => si(member.owned_shards)], ["Shards by kind", (member) => (Object.keys(member.shards).length === 0 ? "\u2013" : plain(Object.entries(member.shards).map(([kind, count]) => `${kind} ${count}`).join(", ")))],
    ["Incarnation", (member) => member.incarnation], ["Epoch of the membership", (member) => String(member.epoch)],
    ["Lease ends in", (member) => span(member.own?.lease_seconds ?? null)], ["Turns that wait for the lease", (member) => si(member.own?.held_turns ?? null)],
    ["Times joined", (member) => si(member.own?.joined ?? null)], ["Memberships lost", (member) => si(member.own?.lost ?? null)], ["Times fenced", (member) => si(member.own?.fenced ?? null)],
    ["Silent members removed", (member) => si(member.own?.removed ?? null)],
    ["Shards claimed", (member) => si(member.own?.claimed_shards ?? null)], ["Shards handed over", (member) => si(member.own?.handed_over_shards ?? null)],
  ],
  links: [
    ["State", (link) => link.state], ["Level", level], ["Of the node", (link) => plain(link.local)],
    ["In this state for", (link) => span(link.state_seconds)], ["Last frame before", (link) => span(link.silent_seconds)],
    ["Incarnation of the other node", (link) => link.incarnation], ["Times connected", (link) => si(link.connects)],
    ["Messages sent per second", (link) => rate(link.sent_rate)], ["Messages sent", (link) => si(link.sent_messages)], ["Frames sent", (link) => si(link.sent_frames)],
    ["Bytes sent per second", (link) => si(link.sent_byte_rate, "B/s")], ["Bytes sent", (link) => bytes(link.sent_bytes)],
    ["Messages received per second", (link) => rate(link.received_rate)], ["Messages received", (link) => si(link.received_messages)], ["Frames received", (link) => si(link.received_frames)],
    ["Bytes received per second", (link) => si(link.received_byte_rate, "B/s")], ["Bytes received", (link) => bytes(link.received_bytes)],
    ["Messages lost", (link) => si(link.lost_messages)], ["Frames lost", (link) => si(link.lost_frames)],
    ["Messages that may be lost", (link) => si(link.unconfirmed_messages)], ["Frames that have not arrived", (link) => si(link.missing_frames)],
    ["Messages refused", (link) => si(link.refused_messages)], ["Frames refused by the network", (link) => si(link.refused_frames)],
    ["Frames that wait", (link) => si(link.waiting_frames)], ["Bytes that wait", (link) => bytes(link.waiting_bytes)],
    ["Bytes without confirmation", (link) => bytes(link.unconfirmed_bytes)], ["Credit", (link) => bytes(link.credit_bytes)],
    ["Questions without an answer", (link) => si(link.questions)],
  ],
  kinds: [
    ["Level", level], ["Of the node", (kind) => plain(kind.local)], ["Runs here", (kind) => (kind.is_hosted ? "yes" : "no")],
    ["Entities that run here", (kind) => si(kind.entities)], ["Created", (kind) => si(kind.created)], ["Created per second", (kind) => rate(kind.created_rate)],
    ["Stopped because idle", (kind) => si(kind.passivated)],
    ["Shards", (kind) => si(kind.shards)], ["Shards here", (kind) => si(kind.owned_shards)], ["Shards without an owner", (kind) => si(kind.unowned_shards)],
    ["Shards handed over from here", (kind) => si(kind.handing_over_shards)], ["Shards handed over by any node", (kind) => si(kind.moving_shards)],
    ["Messages that wait", (kind) => si(kind.waiting_messages)], ["Messages for shards of others", (kind) => si(kind.stray_messages)],
    ["Messages that found a full mailbox", (kind) => si(kind.refused_messages)],
    ["Messages that waited too long", (kind) => si(kind.expired_messages)], ["Entities that did not end in time", (kind) => si(kind.abandoned_entities)],
  ],
};

const CHARTS = {
  nodes: [["rate", "Rate", rate], ["busy", "Busy", percent, 1], ["waiting", "Messages waiting", si]],
  edges: [["rate", "Rate", rate], ["fill", "Filled", percent, 1]],
  sponsors: [["rate", "Turns per second", rate], ["busy", "Busy", percent, 1]],
  journals: [["rate", "Turns per second", rate], ["busy", "Disk", percent, 1], ["waiting", "Turns waiting", si]],
  members: [],
  links: [["rate", "Messages sent", rate], ["received", "Messages received", rate], ["waiting", "Bytes waiting", bytes]],
  kinds: [["entities", "Entities", si]],
};

/** Kinds of things that have no neighbors. */
const ALONE = new Set(["journals", "members", "links", "kinds"]);

const KIND = { edges: "channel", sponsors: "sponsor", journals: "journal", members: "member of a cluster", links: "link to another node", kinds: "kind of entities" };
const kindName = (kind, thing) => KIND[kind] ?? (thing.kind === "actors" ? "group of actors" : "stage");

/** Returns the title of a thing. A channel without a name gets its title from its ends. */
export function title(store, thing) {
  if (thing.name) return plain(thing.name);
  if (thing.from === undefined) return plain(thing.id);
  return `${end(store, thing.from)} \u2192 ${end(store, thing.to)}`;
}

export const end = (store, id) => (id === null ? "?" : plain(store.things.get(id)?.thing.name ?? id));

export class Details {
  /** Creates the panel. `onSelect(id)` is called when the user follows a link. */
  constructor(onSelect) {
    this.body = byId("details-body");
    this.onSelect = onSelect;
    this.shown = undefined;
  }

  update(store, id) {
    const entry = store.things.get(id);
    const key = entry === undefined ? null : id;
    if (this.shown !== key) {
      this.shown = key;
      byId("details-close").hidden = key === null;
      this.refresh = key === null ? this.overview() : this.sheet(entry.kind);
    }
    this.refresh(store, entry?.thing);
  }

  /** Shows an overview of the process and its alerts, for an empty selection. */
  overview() {
    const list = html("div");
    const links = new Links(list, this.onSelect);
    this.body.replaceChildren(html("p", { class: "muted" }, "Select a row of a table, or a node or channel of the graph, to see all its data."), list);
    write(byId("details-title"), "Details");
    return (store) => {
      const worst = store.snapshot.alerts.slice(0, 8);
      const busiest = store.snapshot.edges.slice().sort((a, b) => b.fill_p80 - a.fill_p80).slice(0, 5);
      links.update([["Beyond a threshold", worst.map((alert) => link(alert.on, alert.text, SIGNS[alert.level], alert.level))],
        ["Fullest channels", busiest.map((edge) => link(edge.id, title(store, edge), percent(edge.fill_p80)))]]);
    };
  }

  sheet(kind) {
    const kicker = html("p", { class: "muted kicker" });
    const note = html("p", { class: "note name" });
    const charts = CHARTS[kind].map(([name, label, format, top]) => chart(name, label, format, top));
    const probes = PROBES[kind].map(([label, read]) => ({ read, value: html("dd", { class: "name" }), label }));
    const bars = histogram();
    const messages = new Messages();
    const list = html("div");
    const links = new Links(list, this.onSelect);
    this.body.replaceChildren(kicker, note, ...charts.map((one) => one.element),
      html("dl", { class: "probes" }, ...probes.flatMap(({ label, value }) => [html("dt", {}, label), value])), messages.element, bars.element, list);
    return (store, thing) => {
      write(byId("details-title"), title(store, thing));
      write(kicker, kindName(kind, thing));
      const reason = thing.note ?? thing.failure ?? thing.notice ?? thing.own?.failure;
      write(note, reason ? plain(reason) : "");
      note.hidden = !reason;
      for (const one of charts) one.update(store, thing);
      for (const { read, value } of probes) {
        write(value, read(thing));
        attribute(value, "data-level", read === level ? thing.level : null);
      }
      messages.update(thing.messages_by_kind ?? []);
      bars.update(thing.batches?.counts ?? []);
      links.update(this.relations(store, kind, thing));
    };
  }

  /** Returns sections with links to the neighbors of a thing. */
  relations(store, kind, thing) {
    const { edges, nodes, sponsors, alerts } = store.snapshot;
    const own = ["Alerts", alerts.filter((alert) => alert.on === thing.id).map((alert) =>
      link(thing.id, `${alert.text} Since ${clock(alert.since_unix_ms)}.`, SIGNS[alert.level], alert.level))];
    if (ALONE.has(kind)) return [own];
    if (kind === "edges") {
      const ends = [["from", thing.from], ["to", thing.to]].filter(([, id]) => id !== null);
      return [own, ["Ends", ends.map(([way, id]) => link(id, end(store, id), way))]];
    }
    if (kind === "sponsors") {
      const here = nodes.filter((node) => node.place === thing.name).slice(0, 50);
      const turns = longest(thing).slice(0, 50);
      return [own, ["Workers in a turn", turns.map((turn) => link(turn.node, `${turn.worker}: ${plain(turn.name)}`, span(turn.seconds)))],
        ["Runs", here.map((node) => link(node.id, node.name, percent(node.busy)))]];
    }
    const way = (label, side) => [label, edges.filter((edge) => edge[side] === thing.id).slice(0, 50)
      .map((edge) => link(edge.id, title(store, edge), rate(edge.rate)))];
    const holds = sponsors.flatMap((sponsor) => longest(sponsor).filter((turn) => turn.node === thing.id)
      .map((turn) => link(sponsor.id, `${turn.worker} of ${plain(sponsor.name)}`, span(turn.seconds)))).slice(0, 50);
    return [own, ["Holds the workers", holds], way("Takes from", "to"), way("Sends to", "from")];
  }
}

/** Describes a link to a thing, with a mark behind it. */
const link = (id, text, mark, level = "ok") => ({ id, text, mark, level });

/**
 * Sections with links to things. Each link is created once and then updated. So a click that has
 * begun before an update still counts, unless the update moves the link to another place.
 */
class Links {
  constructor(parent, onSelect) {
    this.parent = parent;
    this.onSelect = onSelect;
    this.sections = new Map();
  }

  /** Shows the sections that have links. Each section is a heading and its links. */
  update(sections) {
    const focus = this.parent.contains(document.activeElement) ? document.activeElement : null;
    const shown = sections.filter(([, links]) => links.length > 0);
    this.sections = new Map(shown.map(([label]) => [label, this.sections.get(label) ?? { head: html("h3", {}, label), list: html("ul", { class: "links" }), rows: new Map() }]));
    for (const [label, links] of shown) this.fill(this.sections.get(label), keyed(links, ({ id }) => id));
    arrange(this.parent, [...this.sections.values()].flatMap(({ head, list }) => [head, list]));
    if (focus !== null && focus.isConnected && document.activeElement !== focus) focus.focus({ preventScroll: true });
  }

  fill(section, links) {
    section.rows = new Map(links.map(({ key, item }) => [key, section.rows.get(key) ?? this.row(item.id)]));
    for (const { key, item } of links) {
      const { name, mark } = section.rows.get(key);
      write(name, plain(item.text));
      write(mark, item.mark);
      attribute(mark, "data-level", item.level);
    }
    arrange(section.list, [...section.rows.values()].map(({ line }) => line));
  }

  row(id) {
    const [name, mark] = [html("bdi", { class: "name" }), html("span", { class: "level" })];
    const button = html("button", { type: "button", class: "link", "data-on": id, onclick: () => this.onSelect(id) }, name);
    return { name, mark, line: html("li", {}, button, mark) };
  }
}

/** Headings of the columns of the kinds of messages, and the values in them. */
const MESSAGES = [["Message", (one) => plain(one.name)], ["Rate", (one) => rate(one.rate)],
  ["Time", (one, all) => percent(all > 0 ? one.busy / all : 0)], ["Mean", (one) => span(one.mean_seconds)]];

/** A table of the kinds of messages of a group of actors. The kind with the most time comes first. */
class Messages {
  constructor() {
    this.body = html("tbody");
    this.rows = new Map();
    const heads = MESSAGES.map(([name], column) => html("th", { scope: "col", class: column > 0 ? "number" : "" }, name));
    this.element = html("div", { class: "messages" }, html("h3", {}, "Messages"),
      html("table", {}, html("thead", {}, html("tr", {}, ...heads)), this.body));
  }

  update(kinds) {
    this.element.hidden = kinds.length === 0;
    this.rows = new Map(kinds.map((one) => [one.name, this.rows.get(one.name) ?? this.row()]));
    const all = kinds.reduce((sum, one) => sum + one.busy, 0);
    for (const one of kinds) MESSAGES.forEach(([, read], column) => write(this.rows.get(one.name).cells[column], read(one, all)));
    arrange(this.body, [...this.rows.values()]);
  }

  row() {
    const cells = MESSAGES.map((_, column) => (column === 0 ? html("th", { scope: "row", class: "name" }) : html("td", { class: "number" })));
    return html("tr", {}, ...cells);
  }
}

/** Replaces links by newer links without moving the focus. */
function keepFocus(parent, children) {
  const on = parent.contains(document.activeElement) ? document.activeElement.dataset.on : undefined;
  parent.replaceChildren(...children);
  if (on !== undefined) [...parent.querySelectorAll("[data-on]")].find((link) => link.dataset.on === on)?.focus({ preventScroll: true });
}

/** Returns a chart of a thing's value. */
function chart(name, label, format, top) {
  const { element, update } = plot(label, POINTS, name, format, top);
  return { element, update: (store, thing) => update(store.series(thing.id, name), store.times) };
}

/** Maximum number of bottlenecks that are listed. The graph marks all of them. */
const PIPELINES_MAX = 4;

/** A line for each pipeline, which names its bottleneck. */
export class Pipelines {
  /** Creates the lines. `onSelect(id)` is called when the user follows a link. */
  constructor(onSelect) {
    this.list = byId("pipelines");
    this.onSelect = onSelect;
  }

  update({ snapshot }) {
    const all = snapshot.pipelines ?? [];
    const limited = all.filter((one) => one.bottleneck !== null);
    const shown = (limited.length > 0 ? limited : all.slice(0, 1)).slice(0, PIPELINES_MAX);
    this.list.hidden = shown.length === 0;
    // A line that stays the same keeps its button, so that a press that has begun counts.
    const key = JSON.stringify([shown, all.length]);
    if (key === this.key) return;
    this.key = key;
    const rows = shown.map((one) => this.row(one, all.length > 1));
    if (all.length > shown.length) rows.push(html("li", { class: "muted" }, `${all.length - shown.length} more ${all.length === shown.length + 1 ? "pipeline" : "pipelines"}`));
    keepFocus(this.list, rows);
  }

  row({ id, name, bottleneck, text }, named) {
    const target = bottleneck ?? id;
    const label = named ? [html("span", { class: "muted name" }, plain(name)), " "] : [];
    return html("li", { "data-bottleneck": bottleneck === null ? null : "" }, ...label,
      html("button", { type: "button", class: "link", "data-on": target, onclick: () => this.onSelect(target) }, html("bdi", { class: "name" }, plain(text))));
  }
}

/** Key figures of the process, along the top of the page. */
export class Vitals {
  constructor() {
    const item = (label, name) => {
      const value = html("dd");
      const line = name === undefined ? null : spark(72, 24, 60, "vital");
      const tile = html("div", {}, html("dt", {}, label), value);
      if (line !== null) tile.append(line.element);
      byId("vitals").append(tile);
      return { tile, value, line, name };
    };
    this.items = [[item("Uptime"), (snapshot) => duration(snapshot.uptime)],
      [item("Cores in use", "cpu"), (snapshot) => cores(snapshot.process.cpu)],
      [item("Memory", "memory"), (snapshot) => bytes(snapshot.process.resident_bytes)],
      [item("Threads"), (snapshot) => si(snapshot.process.threads)],
      [item("Messages taken", "rate"), (snapshot) => rate(snapshot.nodes.reduce((sum, node) => sum + node.rate, 0))],
      [item("Alerts"), (snapshot) => alertCount(snapshot)]];
  }

  update(store) {
    const { snapshot } = store;
    for (const [{ value, line, name }, read] of this.items) {
      write(value, read(snapshot));
      line?.update(store.process[name]);
    }
    const worst = snapshot.alerts.some((alert) => alert.level === "critical") ? "critical" : snapshot.alerts.length > 0 ? "warning" : "ok";
    attribute(this.items.at(-1)[0].tile, "data-level", worst);
  }
}

function alertCount({ alerts }) {
  const critical = alerts.filter((alert) => alert.level === "critical").length;
  const words = [];
  if (critical > 0) words.push(`${SIGNS.critical} ${critical}`);
  if (alerts.length > critical) words.push(`${SIGNS.warning} ${alerts.length - critical}`);
  return words.length > 0 ? words.join("  ") : "none";
}
