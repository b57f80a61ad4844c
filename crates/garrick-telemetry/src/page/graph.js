// The graph: cards for nodes, curves for channels, a lane for each team or sponsor.

import { arrange, attribute, byId, svg, write } from "./dom.js";
import { collapse, LEVEL_MAX } from "./collapse.js";
import { fit, fitWords, load, percent, plain, rate, si, SIGNS } from "./format.js";
import { CARD, layout, signature } from "./layout.js";

/** `legible` is the minimum zoom at which all texts of a card can be read. */
const ZOOM = { min: 0.04, max: 2.5, fit: 1.15, step: 1.25, legible: 0.75 };
/**
 * Limits of the zoom below which texts are left out: first the small ones, then all but the names,
 * and then the names.
 */
const FAR = [0.72, 0.45, 0.16];
/** Size of the texts on the screen while others are left out, in pixels. */
const FAR_PX = 11;
/** Maximum number of nodes of a graph that is never collapsed. */
const SMALL_MAX = 16;
/** Number of groups that a search opens at most. */
const FOUND_MAX = 3;
const WIDTH_PX = { min: 1.5, more: 6.5 };
/** Below this width the graph runs from top to bottom. */
const DOWN_PX = 640;
const FAMILY = "Inter, system-ui, sans-serif";
const FONT = { title: 13, title_weight: 600, small: `11px ${FAMILY}`, lane: `600 11px ${FAMILY}`, label: `550 11px ${FAMILY}` };
const DRAG_PX = 4;
const PAD = 14;
const GAUGE = { width: 108, height: 20 };

const ICONS = {
  stage: "M1 2l5 5l-5 5M7 2l5 5l-5 5",
  group: "M2 4h10M2 7h10M2 10h10",
  actors: "M4.5 4.5m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M10.5 9.5m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0M3.5 11m-1.6 0a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0",
};

export class Graph {
  /**
   * Creates the graph. `onSelect(id)` is called with the selected id, or `null` for the background.
   * `onOpen()` is called when a group was opened, and must update the graph.
   */
  constructor(onSelect, onOpen) {
    this.onOpen = onOpen;
    this.svg = byId("graph");
    this.parts = Object.fromEntries(["view", "lanes", "edges", "nodes", "labels"].map((id) => [id, byId(id)]));
    this.onSelect = onSelect;
    this.nodes = new Map();
    this.edges = new Map();
    this.lanes = new Map();
    this.view = { x: 0, y: 0, k: 1 };
    this.moved = false;
    this.selected = null;
    this.matches = null;
    /** Level of the collapse, or `null` if the room decides. The groups that are open, by id. */
    this.level = null;
    this.open = new Set();
    this.listen();
  }

  update(snapshot, matches, isNewSearch) {
    const down = this.svg.clientWidth < DOWN_PX;
    const base = `${signature(snapshot, down)}\u0003${this.svg.clientWidth}x${this.svg.clientHeight}`;
    if (base !== this.base) {
      this.base = base;
      this.chosen = this.level ?? this.levelThatFits(snapshot, down);
    }
    this.full = snapshot;
    byId("graph-none").hidden = ["nodes", "journals", "members", "links"].some((kind) => (snapshot[kind] ?? []).length > 0);
    if (isNewSearch) this.search(snapshot, matches);
    this.snapshot = collapse(snapshot, this.chosen, this.open);
    const now = signature(this.snapshot, down);
    if (now !== this.signature) {
      this.signature = now;
      this.build(this.snapshot, layout(this.snapshot, down));
    }
    this.fill(snapshot, matches);
    if (isNewSearch) this.zoomToMatches(matches);
    this.showLevel();
  }

  /** Writes the values of a snapshot. */
  fill(snapshot, matches) {
    this.matches = matches;
    const { nodes, edges } = this.snapshot;
    const found = matches === null ? null : new Set([...matches].map((id) => this.snapshot.home.get(id) ?? id));
    const most = edges.reduce((a, edge) => Math.max(a, edge.rate), 0) || 1;
    const bottlenecks = new Set((snapshot.pipelines ?? []).map((one) => this.snapshot.home.get(one.bottleneck)));
    for (const node of nodes) updateNode(this.nodes.get(node.id), node, found, bottlenecks.has(node.id), this.size);
    for (const edge of edges) {
      const parts = this.edges.get(edge.id);
      if (parts !== undefined) updateEdge(parts, edge, most, found);
    }
    for (const sponsor of snapshot.sponsors) {
      const lane = this.lanes.get(sponsor.name);
      if (lane !== undefined) updateLane(lane, sponsor);
    }
  }

  // Groups.

  /** Returns the lowest level at which the graph fits and can be read, or else the highest. */
  levelThatFits(snapshot, down) {
    if (snapshot.nodes.length <= SMALL_MAX) return 0;
    for (let level = 0; level < LEVEL_MAX; level += 1) {
      const map = layout(collapse(snapshot, level, this.open), down);
      if (this.scaleOf(map, down) >= ZOOM.legible) return level;
    }
    return LEVEL_MAX;
  }

  /** Shows all nodes, or as few as necessary. */
  toggleLevel() {
    this.level = this.chosen === 0 ? null : 0;
    this.open.clear();
    this.base = undefined;
    this.moved = false;
  }

  showLevel() {
    const button = byId("expand");
    const hidden = this.full.nodes.length - this.snapshot.nodes.length;
    button.hidden = this.level === null && hidden === 0 && this.open.size === 0;
    write(button, hidden > 0 ? "Expand all" : "Collapse");
    write(byId("graph-groups"), hidden > 0 ? `${this.snapshot.nodes.length} cards` : "");
  }

  /** Opens the groups that contain the nodes that match a search, unless these are many. */
  search(snapshot, matches) {
    for (const id of this.found ?? []) this.open.delete(id);
    this.found = [];
    if (matches === null) return;
    const { home } = collapse(snapshot, this.chosen, this.open);
    const groups = new Set([...matches].map((id) => home.get(id)).filter((id) => id !== undefined && id.startsWith("\u0000")));
    if (groups.size > FOUND_MAX) return;
    for (const id of groups) this.open.add(id);
    this.found = [...groups];
  }

  /** Shows the nodes that match a search, as large as they fit. Shows all nodes without a search. */
  zoomToMatches(matches) {
    if (matches === null) {
      this.fit(this.isLarge());
      return;
    }
    const found = new Set([...matches].map((id) => this.snapshot.home.get(id)).filter((id) => id !== undefined));
    if (found.size > 0) this.frame([...found].map((id) => this.map.nodes.get(id)));
  }

  /** Shows the cards at some places, in the middle of the view, or at least the first ones. */
  frame(places, least = ZOOM.min) {
    const { clientWidth: width, clientHeight: height } = this.svg;
    const [left, top] = [Math.min(...places.map(({ x }) => x)), Math.min(...places.map(({ y }) => y))];
    const right = Math.max(...places.map(({ x }) => x)) + CARD.width;
    const foot = Math.max(...places.map(({ y }) => y)) + CARD.height;
    const k = Math.max(least, Math.min(1, (width - 48) / (right - left), (height - 48) / (foot - top)));
    const start = (room, from, to) => (k * (to - from) < room ? room / 2 - k * (from + to) / 2 : 24 - k * from);
    this.view = { k, x: start(width, left, right), y: start(height, top, foot) };
    this.moved = true;
    this.apply();
  }

  // The contents.

  build(snapshot, map) {
    this.map = map;
    this.lanes = new Map(map.lanes.map((lane) => [lane.name, newLane(lane)]));
    arrange(this.parts.lanes, [...this.lanes.values()].map((lane) => lane.group));
    this.nodes = new Map(snapshot.nodes.map((node) => [node.id, this.partsOf(node)]));
    for (const [id, parts] of this.nodes) {
      const { x, y } = map.nodes.get(id);
      attribute(parts.group, "transform", `translate(${x} ${y})`);
    }
    arrange(this.parts.nodes, [...this.nodes.values()].map((parts) => parts.group));
    const joined = snapshot.edges.filter((edge) => map.edges.has(edge.id));
    this.edges = new Map(joined.map((edge) => [edge.id, newEdge(edge, map.edges.get(edge.id))]));
    arrange(this.parts.edges, [...this.edges.values()].map((parts) => parts.group));
    arrange(this.parts.labels, [...this.edges.values()].map((parts) => parts.label));
    byId("graph-empty").hidden = true;
    this.size = undefined;
    this.rove(this.nodes.has(this.roving) ? this.roving : snapshot.nodes[0]?.id);
    this.select(this.selected);
    if (!this.moved) this.fit(this.isLarge());
    else this.apply();
  }

  /** Returns the card of a node: the card so far, unless it is that of another process. */
  partsOf(node) {
    const parts = this.nodes.get(node.id);
    return parts !== undefined && parts.name === node.name && parts.kind === node.kind ? parts : newNode(node);
  }

  isLarge() { return this.snapshot.nodes.length > SMALL_MAX; }

  select(id) {
    this.selected = id;
    const shown = this.snapshot?.home.get(id) ?? id;
    for (const [key, parts] of this.nodes) attribute(parts.press, "aria-pressed", key === shown);
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
    const far = FAR.filter((limit) => k < limit).length;
    attribute(this.svg, "data-far", far);
    this.fitTexts(far === 0 ? null : Math.round(FAR_PX / k));
  }

  /**
   * Makes the texts on the cards `size` pixels high, which are smaller on the screen, and cuts names
   * that do not fit. `null` is the normal size.
   */
  fitTexts(size) {
    if (size === this.size) return;
    this.size = size;
    const near = size === null;
    for (const { name, title, value } of this.nodes.values()) {
      const room = near ? CARD.width - 66 : CARD.width - 2 * PAD;
      write(title, fit(name, `${FONT.title_weight} ${size ?? FONT.title}px ${FAMILY}`, room));
      attribute(title, "x", near ? 34 : PAD);
      attribute(title, "y", near ? 23 : size + 8);
      attribute(value, "y", near ? 43 : 2 * size + 14);
      title.style.fontSize = near ? "" : `${size}px`;
      value.style.fontSize = near ? "" : `${size}px`;
    }
    for (const { name, text, width } of this.lanes.values()) {
      write(text, fit(name, near ? FONT.lane : `600 ${size}px ${FAMILY}`, near ? width * 0.55 : width));
      text.style.fontSize = near ? "" : `${size}px`;
    }
    if (this.full !== undefined) this.fill(this.full, this.matches);
  }

  /** Returns the zoom at which all of `map` is visible. A graph that runs down may be scrolled. */
  scaleOf(map, down = false) {
    const { clientWidth: width, clientHeight: height } = this.svg;
    const across = (width - 24) / map.width;
    return Math.min(ZOOM.fit, across, down ? Infinity : (height - 24) / map.height);
  }

  /** Shows all of the graph. If `legible` is true, shows the beginning if the rest would be too small. */
  fit(legible = false) {
    if (this.map === undefined) return;
    const { clientWidth: width, clientHeight: height } = this.svg;
    const scale = Math.max(legible ? ZOOM.legible : ZOOM.min, this.scaleOf(this.map));
    const start = (room, size) => Math.max(12, (room - size * scale) / 2);
    this.view = { k: scale, x: start(width, this.map.width), y: start(height, this.map.height) };
    if (!legible) this.view = { k: scale, x: (width - this.map.width * scale) / 2, y: (height - this.map.height * scale) / 2 };
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
    const at = this.map?.nodes.get(this.snapshot.home.get(id) ?? id);
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
    for (const [key, parts] of this.nodes) attribute(parts.press, "tabindex", key === id ? "0" : "-1");
    this.roving = id;
  }

  /**
   * Updates the text for screen readers when the focus arrives, and does not change it afterwards.
   */
  describe(id) {
    const node = this.snapshot.nodes.find((one) => one.id === id);
    if (node !== undefined) attribute(this.nodes.get(id).press, "aria-label", describe(node));
  }

  focus(id = this.roving) {
    const parts = this.nodes.get(id);
    if (parts === undefined) return;
    this.rove(id);
    parts.press.focus({ preventScroll: true });
    this.reveal(id);
  }

  key(event) {
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (arrow !== undefined && event.shiftKey) this.pan(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow !== undefined) this.focus(this.neighbour(...arrow));
    else if (event.key === "Home") this.focus([...this.nodes.keys()][0]);
    else if (event.key === "End") this.focus([...this.nodes.keys()].at(-1));
    else if ((event.key === "Enter" || event.key === " ") && this.roving !== undefined) this.choose(this.roving);
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
    this.svg.addEventListener("focusin", (event) => this.describe(event.target.closest("[data-id]")?.dataset.id));
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
    if (this.map !== undefined && !this.moved) this.fit(this.isLarge());
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
    this.choose(id);
  }

  /** Selects a node or channel, or opens a group. */
  choose(id) {
    const group = this.snapshot.nodes.find((node) => node.id === id && node.members !== undefined);
    if (group === undefined) {
      this.onSelect(id);
      return;
    }
    this.open.add(id);
    this.roving = group.members[0];
    this.onOpen();
    this.frame(group.members.map((one) => this.map.nodes.get(this.snapshot.home.get(one))), ZOOM.legible);
    this.focus();
  }
}

// The parts.

/** Shares of the window that the bar of a card shows, from the left to the right. */
const SHARES = [["busy", "busy"], ["back_pressured", "pressed"], ["starved", "starved"]];
const BAR = { x: PAD, y: CARD.height - 8, height: 4 };

function newNode(node) {
  const text = (name, x, y) => svg("text", { class: name, x, y });
  const right = CARD.width - PAD;
  const parts = {
    name: node.name, kind: node.kind, title: text("title", 34, 23),
    sign: text("sign end", right, 23), value: text("value", PAD, 43), side: text("side end", right, 43), foot: text("foot", PAD, 59),
    bars: SHARES.map(([, name]) => svg("rect", { class: `share ${name}`, ...BAR, width: 0 })),
  };
  const tip = svg("title");
  tip.append(plain(node.name));
  const deck = node.members === undefined ? [] : [svg("rect", { class: "card deck", x: 5, y: 5, width: CARD.width, height: CARD.height, rx: 9 })];
  // The texts are beside the button, and not in it: they change all the time, but the description
  // of the button does not.
  parts.press = svg("g", { class: "press", role: "button", tabindex: "-1", "aria-label": describe(node), "aria-pressed": "false" },
    ...deck, svg("rect", { class: "card", width: CARD.width, height: CARD.height, rx: 9 }));
  parts.group = svg("g", { class: "node", "data-id": node.id, "data-kind": node.kind }, tip, parts.press,
    svg("g", { "aria-hidden": "true" }, svg("path", { class: "kind", d: ICONS[node.kind] ?? ICONS.stage, transform: "translate(14 11.5)" }),
      parts.title, parts.sign, parts.value, parts.side, parts.foot,
      svg("rect", { class: "track", ...BAR, width: CARD.width - 2 * PAD }), ...parts.bars));
  return parts;
}

const kindName = (node) => ({ actors: "actors", group: "group" })[node.kind] ?? "stage";

/** Returns a summary of a node, the most urgent words first. */
function foot(node, isBottleneck) {
  const words = [];
  if (node.state !== "running") words.push(node.state);
  if (isBottleneck) words.push("bottleneck");
  if (node.failures > 0 && node.state !== "failed") words.push(`${si(node.failures)} failed`);
  if (node.restarts > 0) words.push(`\u21bb ${si(node.restarts)}`);
  if (node.members !== undefined && node.busy !== null) words.push(`${plain(node.busiest)} ${percent(node.busy)} busy`);
  if (node.alive !== null) words.push(`${si(node.alive)} alive`);
  if (node.waiting !== null) words.push(`${si(node.waiting)} waiting`);
  if (node.back_pressured >= 0.1) words.push(`${percent(node.back_pressured)} back-pressured`);
  if (node.starved >= 0.1) words.push(`${percent(node.starved)} starved`);
  if (node.slow > 0) words.push(`${si(node.slow)} slow`);
  return words.length > 0 ? words : [node.state];
}

const sign = (node) => (node.state === "failed" ? "\u2715" : node.state === "ended" && node.level === "ok" ? "\u25a0" : SIGNS[node.level]);

function updateNode(parts, node, matches, isBottleneck, size) {
  const { group } = parts;
  attribute(group, "data-level", node.state === "failed" ? "critical" : node.level);
  attribute(group, "data-state", node.state);
  attribute(group, "data-bottleneck", isBottleneck ? "" : null);
  group.classList.toggle("dim", matches !== null && !matches.has(node.id));
  write(parts.sign, sign(node));
  const side = node.members === undefined ? (node.busy === null ? "" : `${percent(node.busy)} busy`) : `${node.members.length} nodes`;
  const far = size === null || size === undefined ? null : [rate(node.rate), ...(side === "" ? [] : [side])];
  write(parts.value, far === null ? rate(node.rate) : fitWords(far, `550 ${size}px ${FAMILY}`, CARD.width - 2 * PAD));
  write(parts.side, side);
  write(parts.foot, fitWords(foot(node, isBottleneck), FONT.small, CARD.width - 2 * PAD));
  const all = CARD.width - 2 * PAD;
  let x = 0;
  SHARES.forEach(([name], index) => {
    const width = Math.round(Math.min(all - x, Math.min(1, node[name] ?? 0) * all));
    attribute(parts.bars[index], "x", PAD + x);
    attribute(parts.bars[index], "width", width);
    x += width;
  });
}

/** Returns the description of a node for a screen reader. */
function describe(node) {
  const level = node.level === "ok" ? "" : `, ${node.level}`;
  const busy = node.busy === null ? "" : `, ${percent(node.busy)} busy`;
  const members = node.members === undefined ? "" : ` of ${node.members.length} nodes`;
  return `${kindName(node)} ${plain(node.name)}${members} on ${plain(node.place)}, ${node.state}${level}, ${rate(node.rate)}${busy}`;
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
  const words = edge.closed ? ["closed"] : [rate(edge.rate), percent(edge.fill_p80)];
  const mark = SIGNS[edge.level];
  if (mark !== "") words[0] = `${mark} ${words[0]}`;
  if (edge.count !== undefined) words.push(`\u00d7${edge.count}`);
  write(parts.text, fitWords(words, FONT.label, GAUGE.width - 8));
}

function newLane(lane) {
  const width = lane.width - 2 * PAD;
  const text = svg("text", { class: "lane-name", x: PAD, y: 20 });
  const state = svg("text", { class: "lane-state end", x: lane.width - PAD, y: 20 });
  const tip = svg("title");
  tip.append(plain(lane.name));
  const group = svg("g", { class: "lane", transform: `translate(${lane.x} ${lane.y})` },
    tip, svg("rect", { class: "lane-box", width: lane.width, height: lane.height, rx: 13 }), text, state);
  return { group, name: lane.name, text, state, width };
}

function updateLane(lane, sponsor) {
  attribute(lane.group, "data-id", sponsor.id);
  const words = [`${sponsor.workers} ${sponsor.workers === 1 ? "thread" : "threads"}`];
  if (sponsor.idle !== null) words.unshift(`${percent(sponsor.idle)} idle`);
  write(lane.state, fitWords(words, FONT.small, lane.width * 0.42));
}
