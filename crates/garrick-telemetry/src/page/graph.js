// The graph: cards for nodes, curves for channels, a lane for each team or sponsor.

import { arrange, attribute, byId, svg, write } from "./dom.js";
import { fit, load, percent, plain, rate, si, SIGNS } from "./format.js";
import { CARD, layout, signature } from "./layout.js";

const ZOOM = { min: 0.04, max: 2.5, fit: 1.15, step: 1.25 };
const WIDTH_PX = { min: 1.5, more: 6.5 };
/** Below this width the graph runs from top to bottom. */
const DOWN_PX = 640;
const FONT = "600 13px Inter, system-ui, sans-serif";
const DRAG_PX = 4;
/**
 * Number of characters that always fit at the foot of a card. Measuring changing text is too
 * costly.
 */
const FOOT_MAX = 32;
const GAUGE = { width: 108, height: 20 };

const ICONS = {
  stage: "M1 2l5 5l-5 5M7 2l5 5l-5 5",
  actors: "M4.5 4.5m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M10.5 9.5m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0M3.5 11m-1.6 0a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0",
};

export class Graph {
  /**
   * Creates the graph. `onSelect(id)` is called with the selected id, or `null` for the background.
   */
  constructor(onSelect) {
    this.svg = byId("graph");
    this.parts = Object.fromEntries(["view", "lanes", "edges", "nodes", "labels"].map((id) => [id, byId(id)]));
    this.onSelect = onSelect;
    this.nodes = new Map();
    this.edges = new Map();
    this.lanes = new Map();
    this.view = { x: 0, y: 0, k: 1 };
    this.moved = false;
    this.selected = null;
    this.listen();
  }

  update(snapshot, matches) {
    this.snapshot = snapshot;
    const down = this.svg.clientWidth < DOWN_PX;
    const now = signature(snapshot, down);
    if (now !== this.signature) {
      this.signature = now;
      this.build(snapshot, layout(snapshot, down));
    }
    const most = snapshot.edges.reduce((a, edge) => Math.max(a, edge.rate), 0) || 1;
    for (const node of snapshot.nodes) updateNode(this.nodes.get(node.id), node, matches);
    for (const edge of snapshot.edges) {
      const parts = this.edges.get(edge.id);
      if (parts !== undefined) updateEdge(parts, edge, most, matches);
    }
    for (const sponsor of snapshot.sponsors) {
      const lane = this.lanes.get(sponsor.name);
      if (lane !== undefined) updateLane(lane, sponsor);
    }
  }

  // The contents.

  build(snapshot, map) {
    this.map = map;
    this.lanes = new Map(map.lanes.map((lane) => [lane.name, newLane(lane)]));
    arrange(this.parts.lanes, [...this.lanes.values()].map((lane) => lane.group));
    this.nodes = new Map(snapshot.nodes.map((node) => [node.id, this.nodes.get(node.id) ?? newNode(node)]));
    for (const [id, parts] of this.nodes) {
      const { x, y } = map.nodes.get(id);
      attribute(parts.group, "transform", `translate(${x} ${y})`);
    }
    arrange(this.parts.nodes, [...this.nodes.values()].map((parts) => parts.group));
    const joined = snapshot.edges.filter((edge) => map.edges.has(edge.id));
    this.edges = new Map(joined.map((edge) => [edge.id, newEdge(edge, map.edges.get(edge.id))]));
    arrange(this.parts.edges, [...this.edges.values()].map((parts) => parts.group));
    arrange(this.parts.labels, [...this.edges.values()].map((parts) => parts.label));
    byId("graph-empty").hidden = snapshot.nodes.length > 0;
    this.rove(this.nodes.has(this.roving) ? this.roving : snapshot.nodes[0]?.id);
    this.select(this.selected);
    if (!this.moved) this.fit();
  }

  select(id) {
    this.selected = id;
    for (const [key, parts] of this.nodes) attribute(parts.group, "aria-pressed", key === id);
    for (const [key, parts] of this.edges) {
      const on = key === id;
      const near = id !== null && (parts.from === id || parts.to === id);
      for (const group of [parts.group, parts.label]) {
        group.classList.toggle("chosen", on);
        group.classList.toggle("near", near);
      }
    }
  }

  // The view.

  apply() {
    const { x, y, k } = this.view;
    attribute(this.parts.view, "transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${k.toFixed(4)})`);
    const detail = k < 0.25 ? "2" : k < 0.42 ? "1" : "0";
    attribute(this.svg, "data-far", detail);
  }

  fit() {
    if (this.map === undefined) return;
    const { clientWidth: width, clientHeight: height } = this.svg;
    const k = Math.min(ZOOM.fit, (width - 24) / this.map.width, (height - 24) / this.map.height);
    const scale = Math.max(ZOOM.min, k);
    this.view = { k: scale, x: (width - this.map.width * scale) / 2, y: (height - this.map.height * scale) / 2 };
    this.moved = false;
    this.apply();
  }

  /** Zooms around the point at `x` and `y`. */
  zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const k = Math.min(ZOOM.max, Math.max(ZOOM.min, this.view.k * factor));
    const by = k / this.view.k;
    this.view = { k, x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by };
    this.moved = true;
    this.apply();
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.moved = true;
    this.apply();
  }

  zoomIn() { this.zoom(ZOOM.step); }

  zoomOut() { this.zoom(1 / ZOOM.step); }

  /** Moves the view as little as necessary to show a node completely. */
  reveal(id) {
    const at = this.map?.nodes.get(id);
    if (at === undefined) return;
    const { x, y, k } = this.view;
    const inside = (start, size, room) => Math.max(0, 16 - start) + Math.min(0, room - 16 - start - size);
    const dx = inside(x + at.x * k, CARD.width * k, this.svg.clientWidth);
    const dy = inside(y + at.y * k, CARD.height * k, this.svg.clientHeight);
    if (dx !== 0 || dy !== 0) this.pan(dx, dy);
  }

  // Keys.

  /** Puts exactly one node into the order of the tab key. */
  rove(id) {
    for (const [key, parts] of this.nodes) attribute(parts.group, "tabindex", key === id ? "0" : "-1");
    this.roving = id;
  }

  /**
   * Updates the text for screen readers when the focus arrives, and does not change it afterwards.
   */
  describe(id) {
    const node = this.snapshot.nodes.find((one) => one.id === id);
    if (node !== undefined) attribute(this.nodes.get(id).group, "aria-label", describe(node));
  }

  focus(id = this.roving) {
    const parts = this.nodes.get(id);
    if (parts === undefined) return;
    this.rove(id);
    parts.group.focus({ preventScroll: true });
    this.reveal(id);
  }

  key(event) {
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (arrow !== undefined && event.shiftKey) this.pan(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow !== undefined) this.focus(this.neighbour(...arrow));
    else if (event.key === "Home") this.focus([...this.nodes.keys()][0]);
    else if (event.key === "End") this.focus([...this.nodes.keys()].at(-1));
    else if ((event.key === "Enter" || event.key === " ") && this.roving !== undefined) this.onSelect(this.roving);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Returns the next node in a direction. A sideways offset counts more than the straight distance.
   */
  neighbour(dx, dy) {
    const here = this.map.nodes.get(this.roving);
    let [best, found] = [Infinity, this.roving];
    for (const [id, { x, y }] of this.map.nodes) {
      const along = dx * (x - here.x) + dy * (y - here.y);
      const aside = Math.abs(dy * (x - here.x)) + Math.abs(dx * (y - here.y));
      const far = along + 2 * aside;
      if (along > 1 && far < best) [best, found] = [far, id];
    }
    return found;
  }

  // The pointer.

  listen() {
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const area = this.svg.getBoundingClientRect();
      const lines = event.deltaMode === 1 ? 16 : 1;
      this.zoom(Math.exp(-event.deltaY * lines * 0.0015), event.clientX - area.left, event.clientY - area.top);
    }, { passive: false });
    this.svg.addEventListener("focusin", (event) => this.describe(event.target.dataset.id));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("click", (event) => this.click(event));
    this.fingers = new Map();
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.svg.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    }
    new ResizeObserver(() => this.resized()).observe(this.svg);
  }

  resized() {
    if (this.map !== undefined && !this.moved) this.fit();
  }

  press(event) {
    if (event.button !== 0) return;
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.fingers.size === 1) this.dragged = 0;
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (before === undefined) return;
    const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
    this.dragged += Math.abs(dx) + Math.abs(dy);
    if (this.dragged < DRAG_PX) return;
    this.svg.setPointerCapture(event.pointerId);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other === undefined) this.pan(dx, dy);
    else this.pinch(before, event, other);
    before.x = event.clientX;
    before.y = event.clientY;
  }

  pinch(before, now, other) {
    const was = Math.hypot(before.x - other.x, before.y - other.y) || 1;
    const is = Math.hypot(now.clientX - other.x, now.clientY - other.y) || 1;
    const area = this.svg.getBoundingClientRect();
    this.zoom(is / was, other.x - area.left, other.y - area.top);
  }

  click(event) {
    if (this.dragged >= DRAG_PX) return;
    const id = event.target.closest("[data-id]")?.dataset.id ?? null;
    if (this.nodes.has(id)) this.rove(id);
    this.onSelect(id);
  }
}

// The parts.

function newNode(node) {
  const text = (name, x, y) => svg("text", { class: name, x, y });
  const right = CARD.width - 14;
  const parts = {
    sign: text("sign end", right, 23), value: text("value", 14, 43), side: text("side end", right, 43), foot: text("foot", 14, 59),
    busy: svg("rect", { class: "busy", x: 14, y: CARD.height - 8, height: 3, rx: 1.5, width: 0 }),
  };
  const title = text("title", 34, 23);
  title.append(fit(node.name, FONT, CARD.width - 66));
  const tip = svg("title");
  tip.append(plain(node.name));
  parts.group = svg("g", { class: "node", role: "button", tabindex: "-1", "data-id": node.id, "data-kind": node.kind, "aria-label": describe(node), "aria-pressed": "false" },
    tip, svg("rect", { class: "card", width: CARD.width, height: CARD.height, rx: 9 }),
    svg("path", { class: "kind", d: ICONS[node.kind] ?? ICONS.stage, transform: "translate(14 11.5)" }),
    title, parts.sign, parts.value, parts.side, parts.foot,
    svg("rect", { class: "track", x: 14, y: CARD.height - 8, height: 3, rx: 1.5, width: CARD.width - 28 }), parts.busy);
  return parts;
}

const kindName = (node) => (node.kind === "actors" ? "actors" : "stage");

/** Returns a summary of a node in one line. */
function foot(node) {
  const words = [];
  if (node.state !== "running") words.push(node.state);
  if (node.alive !== null) words.push(`${si(node.alive)} alive`);
  if (node.depth !== null) words.push(`${si(node.depth)} waiting`);
  if (node.restarts > 0) words.push(`\u21bb ${si(node.restarts)}`);
  if (node.slow > 0) words.push(`${si(node.slow)} slow`);
  return words.length > 0 ? words.join(" \u00b7 ") : node.state;
}

const sign = (node) => (node.state === "failed" ? "\u2715" : node.state === "ended" && node.level === "ok" ? "\u25a0" : SIGNS[node.level]);

function updateNode(parts, node, matches) {
  const { group } = parts;
  attribute(group, "data-level", node.state === "failed" ? "critical" : node.level);
  attribute(group, "data-state", node.state);
  group.classList.toggle("dim", matches !== null && !matches.has(node.id));
  write(parts.sign, sign(node));
  write(parts.value, rate(node.rate));
  write(parts.side, node.busy === null ? "" : `${percent(node.busy)} busy`);
  write(parts.foot, foot(node).slice(0, FOOT_MAX));
  attribute(parts.busy, "width", Math.round(Math.min(1, node.busy ?? 0) * (CARD.width - 28)));
}

/** Returns the description of a node for a screen reader. */
function describe(node) {
  const level = node.level === "ok" ? "" : `, ${node.level}`;
  const busy = node.busy === null ? "" : `, ${percent(node.busy)} busy`;
  return `${kindName(node)} ${plain(node.name)} on ${plain(node.place)}, ${node.state}${level}, ${rate(node.rate)}${busy}`;
}

function newEdge(edge, route) {
  const line = svg("path", { class: "line", d: route.path });
  const group = svg("g", { class: "edge", "data-id": edge.id, "aria-hidden": "true" },
    svg("path", { class: "hit", d: route.path }), line, svg("path", { class: "head", d: route.head }));
  const [left, top] = [-GAUGE.width / 2, -GAUGE.height / 2];
  const box = { x: left, y: top, width: GAUGE.width, height: GAUGE.height, rx: 10 };
  const gauge = svg("rect", { class: "gauge", ...box });
  const text = svg("text", { class: "middle", y: 4 });
  const label = svg("g", { class: `label${route.crowded ? " crowded" : ""}`, "data-id": edge.id, "aria-hidden": "true", transform: `translate(${route.x} ${route.y})` },
    svg("rect", { class: "pill", ...box }), gauge, svg("rect", { class: "rim", ...box }), text);
  return { group, label, line, gauge, text, from: edge.from, to: edge.to };
}

function updateEdge(parts, edge, most, matches) {
  const { group, label } = parts;
  const dim = matches !== null && !matches.has(edge.id) && !(matches.has(edge.from) && matches.has(edge.to));
  const still = edge.closed || edge.rate === 0;
  for (const part of [group, label]) {
    attribute(part, "data-load", load(edge.fill_p80));
    attribute(part, "data-level", edge.level);
    part.classList.toggle("dim", dim);
    part.classList.toggle("still", still);
  }
  const width = WIDTH_PX.min + WIDTH_PX.more * Math.sqrt(Math.max(0, edge.rate) / most);
  attribute(parts.line, "stroke-width", width.toFixed(1));
  attribute(parts.gauge, "width", Math.round(Math.min(1, edge.fill_p80 || 0) * GAUGE.width));
  const text = edge.closed ? "closed" : `${rate(edge.rate)} \u00b7 ${percent(edge.fill_p80)}`;
  const mark = SIGNS[edge.level];
  write(parts.text, mark === "" ? text : `${mark} ${text}`);
}

function newLane(lane) {
  const width = lane.width - 28;
  const name = svg("text", { class: "lane-name", x: 14, y: 20 });
  name.append(fit(lane.name, "600 11px Inter, system-ui, sans-serif", width * 0.6));
  const state = svg("text", { class: "lane-state end", x: lane.width - 14, y: 20 });
  const group = svg("g", { class: "lane", transform: `translate(${lane.x} ${lane.y})` },
    svg("rect", { class: "lane-box", width: lane.width, height: lane.height, rx: 13 }), name, state);
  return { group, state, width };
}

function updateLane(lane, sponsor) {
  attribute(lane.group, "data-id", sponsor.id);
  const idle = sponsor.idle === null ? "" : ` \u00b7 ${percent(sponsor.idle)} idle`;
  write(lane.state, fit(`${sponsor.workers} ${sponsor.workers === 1 ? "thread" : "threads"}${idle}`, "11px Inter, system-ui, sans-serif", lane.width * 0.6));
}
