// Layout of the graph: layers along the flow, and across it a lane for each team or sponsor.
//
//   1  Channels that close a cycle (found depth first) are reversed to compute the layers.
//   2  The layer of a node is the length of the longest path to it. A source moves up to just
//      before its first target.
//   3  Nodes of one place share a lane. Lanes are ordered by the barycenter of their neighbors.
//      Lanes without common layers may share a row, so one thread for each stage still results in a
//      single row.
//   4  Within a lane, each layer is ordered by the barycenter of the neighbors, in a few sweeps
//      back and forth.
//   5  A channel over several layers passes through the gaps between the nodes on its way.
//
// All computations use two axes: `u` along the flow and `v` across it. Their mapping to x and y is
// chosen at the end: left to right in wide windows, top to bottom on phones.

export const CARD = { width: 188, height: 72 };
const LANE = { head: 30, pad: 20 };
const SWEEPS = 8;
/** Aspect ratio, width to height in nodes, of a block of nodes without channels. */
const BLOCK_ASPECT = 0.6;

/** Returns a key that changes if and only if the graph needs other cards or a new layout. */
export function signature(snapshot, down) {
  const nodes = snapshot.nodes.map((node) => [node.id, node.place, node.name, node.kind].join("\u0001"));
  const edges = snapshot.edges.map((edge) => `${edge.id}\u0001${edge.from}\u0001${edge.to}`);
  return `${down}\u0003${nodes.join("\u0002")}\u0003${edges.join("\u0002")}`;
}

/**
 * Lays out a snapshot. Returns `nodes` (map of x and y), `lanes`, `edges` (map of paths), width and
 * height.
 */
export function layout(snapshot, down) {
  const graph = read(snapshot);
  const axes = down
    ? { down, u: CARD.height, v: CARD.width, gapU: 64, gapV: 20, head: 0, start: 10 }
    : { down, u: CARD.width, v: CARD.height, gapU: 132, gapV: 18, head: 10, start: 0 };
  layer(graph);
  const lanes = gather(graph);
  orderLanes(lanes);
  stack(lanes, axes);
  centre(lanes, axes);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) orderLayers(lanes, axes, sweep % 2 === 1);
  return place(graph, lanes, axes);
}

function read(snapshot) {
  const nodes = snapshot.nodes.map((node) => ({ id: node.id, place: node.place, out: [], in: [], layer: 0, v: 0 }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = [];
  for (const { id, from, to } of snapshot.edges) {
    const [a, b] = [byId.get(from), byId.get(to)];
    if (a === undefined || b === undefined) continue;
    const edge = { id, from: a, to: b, turned: false };
    a.out.push(edge);
    b.in.push(edge);
    edges.push(edge);
  }
  return { nodes, edges };
}

// Steps 1 and 2.

function layer(graph) {
  turnCircles(graph);
  const ahead = (node) => [...node.out.filter((edge) => !edge.turned).map((edge) => edge.to),
    ...node.in.filter((edge) => edge.turned).map((edge) => edge.from)].filter((other) => other !== node);
  const waits = new Map(graph.nodes.map((node) => [node, 0]));
  for (const node of graph.nodes) for (const next of ahead(node)) waits.set(next, waits.get(next) + 1);
  const ready = graph.nodes.filter((node) => waits.get(node) === 0);
  const sources = ready.slice();
  for (let at = 0; at < ready.length; at += 1) {
    for (const next of ahead(ready[at])) {
      next.layer = Math.max(next.layer, ready[at].layer + 1);
      waits.set(next, waits.get(next) - 1);
      if (waits.get(next) === 0) ready.push(next);
    }
  }
  for (const node of sources) {
    const targets = ahead(node).map((next) => next.layer);
    if (targets.length > 0) node.layer = Math.min(...targets) - 1;
  }
}

function turnCircles(graph) {
  const [OPEN, DONE] = [1, 2];
  const state = new Map();
  const roots = [...graph.nodes.filter((node) => node.in.length === 0), ...graph.nodes];
  for (const root of roots) {
    if (state.has(root)) continue;
    state.set(root, OPEN);
    // The path is an explicit list instead of a recursion, because a pipeline may exceed the stack
    // depth.
    const path = [{ node: root, next: 0 }];
    while (path.length > 0) {
      const top = path[path.length - 1];
      const edge = top.node.out[top.next];
      top.next += 1;
      if (edge === undefined) {
        state.set(top.node, DONE);
        path.pop();
      } else if (!state.has(edge.to)) {
        state.set(edge.to, OPEN);
        path.push({ node: edge.to, next: 0 });
      } else if (state.get(edge.to) === OPEN) {
        edge.turned = true;
      }
    }
  }
}

// Step 3.

function gather(graph) {
  const lanes = new Map();
  for (const node of graph.nodes) {
    let lane = lanes.get(node.place);
    if (lane === undefined) lanes.set(node.place, lane = { name: node.place, nodes: [], index: lanes.size, v: 0 });
    node.lane = lane;
    lane.nodes.push(node);
  }
  for (const lane of lanes.values()) spread(lane);
  return [...lanes.values()];
}

/** Puts a lane's nodes into columns by layer, and its nodes without channels into a block below. */
function spread(lane) {
  const alone = lane.nodes.filter(isAlone);
  const joined = lane.nodes.filter((node) => !isAlone(node));
  const layers = joined.map((node) => node.layer);
  lane.first = joined.length > 0 ? least(layers) : 0;
  lane.last = joined.length > 0 ? most(layers) : 0;
  const wide = Math.max(lane.last - lane.first + 1, Math.ceil(Math.sqrt(alone.length * BLOCK_ASPECT)));
  if (alone.length > 0) lane.last = lane.first + Math.min(wide, Math.max(alone.length, lane.last - lane.first + 1)) - 1;
  const width = lane.last - lane.first + 1;
  lane.columns = Array.from({ length: width }, () => []);
  for (const node of joined) lane.columns[node.layer - lane.first].push(node);
  lane.joined = lane.columns.reduce((rows, column) => Math.max(rows, column.length), 0);
  lane.block = Array.from({ length: Math.ceil(alone.length / width) }, (_, row) => alone.slice(row * width, (row + 1) * width));
  lane.rows = lane.joined + lane.block.length;
  for (const row of lane.block) row.forEach((node, column) => { node.layer = lane.first + column; });
}

const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
/**
 * Returns true if a node has no channels to other nodes. A channel to itself needs no extra space.
 */
const isAlone = (node) => neighbours(node).every((other) => other === node);
const neighbours = (node) => [...node.in.map((edge) => edge.from), ...node.out.map((edge) => edge.to)];

function orderLanes(lanes) {
  for (let sweep = 0; sweep < SWEEPS / 2; sweep += 1) {
    for (const lane of lanes) {
      const others = lane.nodes.flatMap(neighbours).map((node) => node.lane).filter((other) => other !== lane);
      lane.wish = others.length > 0 ? (lane.index + mean(others.map((other) => other.index))) / 2 : lane.index;
    }
    lanes.sort((a, b) => a.wish - b.wish);
    lanes.forEach((lane, index) => { lane.index = index; });
  }
}

const depth = (lane, axes) => lane.rows * (axes.v + axes.gapV) - axes.gapV + 2 * LANE.pad + axes.head;

/** Lowers each lane to the place that the lanes before it leave free. */
function stack(lanes, axes) {
  const floor = [];
  for (const lane of lanes) {
    lane.size = depth(lane, axes);
    lane.v = 0;
    for (let at = lane.first; at <= lane.last; at += 1) lane.v = Math.max(lane.v, floor[at] ?? 0);
    for (let at = lane.first; at <= lane.last; at += 1) floor[at] = lane.v + lane.size + axes.gapV;
  }
}

/** Moves lanes to the middle of their neighbors, if there is room. */
function centre(lanes, axes) {
  const meet = (a, b) => a !== b && a.first <= b.last && b.first <= a.last;
  const middle = (lane) => lane.v + lane.size / 2;
  for (let sweep = 0; sweep < SWEEPS / 2; sweep += 1) {
    for (const lane of lanes) {
      const others = lane.nodes.flatMap(neighbours).map((node) => node.lane).filter((other) => other !== lane);
      if (others.length === 0) continue;
      const wish = mean(others.map(middle)) - lane.size / 2;
      const above = lanes.filter((other) => meet(lane, other) && other.v < lane.v).map((other) => other.v + other.size + axes.gapV);
      const below = lanes.filter((other) => meet(lane, other) && other.v > lane.v).map((other) => other.v - axes.gapV - lane.size);
      lane.v = Math.max(0, most(above), Math.min(wish, least(below)));
    }
  }
  for (const lane of lanes) settle(lane, axes);
}

/** Assigns the nodes of a lane their positions across the flow. */
function settle(lane, axes) {
  const step = axes.v + axes.gapV;
  const start = lane.v + LANE.pad + axes.head;
  for (const column of lane.columns) {
    const spare = (lane.joined - column.length) / 2;
    column.forEach((node, row) => { node.v = start + (row + spare) * step; });
  }
  lane.block.forEach((row, index) => row.forEach((node) => { node.v = start + (lane.joined + index) * step; }));
}

// Step 4.

function orderLayers(lanes, axes, backwards) {
  const last = most(lanes.map((lane) => lane.last));
  for (let step = 0; step <= last; step += 1) {
    const at = backwards ? last - step : step;
    for (const lane of lanes) {
      const column = lane.columns[at - lane.first];
      if (column === undefined || column.length < 2) continue;
      for (const node of column) {
        const others = (backwards ? node.out.map((edge) => edge.to) : node.in.map((edge) => edge.from));
        node.wish = others.length > 0 ? mean(others.map((other) => other.v)) : node.v;
      }
      column.sort((a, b) => a.wish - b.wish);
      settle(lane, axes);
    }
  }
}

// Step 5, and the result.

function place(graph, lanes, axes) {
  const at = (u, v) => (axes.down ? [v, u] : [u, v]);
  const u = (index) => LANE.pad + axes.start + index * (axes.u + axes.gapU);
  const nodes = new Map(graph.nodes.map((node) => {
    const [x, y] = at(u(node.layer), node.v);
    return [node.id, { x, y, layer: node.layer, v: node.v }];
  }));
  const boxes = lanes.map((lane) => box(lane, axes, at, u));
  const heads = boxes.map(({ x, y, width }) => ({ x, y, width, height: LANE.head - 2 }));
  const cards = [...nodes.values()].map(({ x, y }) => ({ x, y, ...CARD }));
  const edges = route(graph, axes, at, u, [...heads, ...cards]);
  const right = [...boxes.map((one) => one.x + one.width), ...edges.map((edge) => edge.x + 56)];
  const foot = [...boxes.map((one) => one.y + one.height), ...edges.map((edge) => edge.y + 12)];
  return { nodes, lanes: boxes, edges: new Map(edges.map((edge) => [edge.id, edge])), width: most([0, ...right]), height: most([0, ...foot]) };
}

function box(lane, axes, at, u) {
  const start = u(lane.first) - LANE.pad - axes.start;
  const end = u(lane.last) + axes.u + LANE.pad;
  const [x, y] = at(start, lane.v);
  const [width, height] = at(end - start, lane.size);
  return { name: lane.name, x, y, width, height };
}

/** Returns the paths of all channels. Labels keep clear of `obstacles`, which are boxes with texts. */
function route(graph, axes, at, u, obstacles) {
  const occupied = [];
  for (const node of graph.nodes) (occupied[node.layer] ??= []).push(node.v);
  for (const column of occupied) column?.sort((a, b) => a - b);
  const ports = new Map();
  for (const node of graph.nodes) {
    fan(node.out, "to", node, ports, axes);
    fan(node.in, "from", node, ports, axes);
  }
  const labels = [];
  return graph.edges.map((edge) => {
    const { out, into } = ports.get(edge);
    const points = edge.to.layer > edge.from.layer
      ? ahead(edge, out, into, occupied, axes, u)
      : around(edge, out, into, axes, u);
    const label = mark(points, labels, obstacles, at);
    return { id: edge.id, path: draw(points, at), head: head(points, at, axes), ...label };
  });
}

/** Distributes the channels on one side of a node, in the order of their other ends. */
function fan(edges, end, node, ports, axes) {
  const sorted = edges.slice().sort((a, b) => a[end].v - b[end].v);
  const step = Math.min(18, (axes.v - 20) / Math.max(1, sorted.length));
  sorted.forEach((edge, index) => {
    const v = node.v + axes.v / 2 + (index - (sorted.length - 1) / 2) * step;
    const port = ports.get(edge) ?? {};
    port[end === "to" ? "out" : "into"] = v;
    ports.set(edge, port);
  });
}

function ahead(edge, out, into, occupied, axes, u) {
  const [from, to] = [edge.from.layer, edge.to.layer];
  const points = [{ u: u(from) + axes.u, v: out }];
  let v = out;
  for (let at = from + 1; at < to; at += 1) {
    v = gap(occupied[at] ?? [], v + (into - v) / (to - at + 1), axes);
    points.push({ u: u(at) - 12, v }, { u: u(at) + axes.u + 12, v, straight: true });
  }
  points.push({ u: u(to), v: into });
  return points;
}

/**
 * Returns a position near `v` outside of all nodes. Prefers below, because the name of the lane may
 * be above.
 */
function gap(column, v, axes) {
  for (const top of column) {
    if (v > top - 6 && v < top + axes.v + 6) {
      return v < top + axes.v / 4 ? top - axes.gapV / 2 : top + axes.v + axes.gapV / 2;
    }
  }
  return v;
}

/** Routes a feedback channel or a loop: out, past the farther of the two nodes, and back in. */
function around(edge, out, into, axes, u) {
  const over = Math.max(edge.from.v, edge.to.v) + axes.v + axes.gapV / 2;
  const [start, end] = [u(edge.from.layer) + axes.u, u(edge.to.layer)];
  const bend = LANE.pad - 3;
  return [{ u: start, v: out }, { u: start + bend, v: (out + over) / 2, turn: true },
    { u: start, v: over, turn: true }, { u: end, v: over, straight: true, back: true },
    { u: end - bend, v: (into + over) / 2, turn: true }, { u: end, v: into, turn: true }];
}

const round = (value) => Math.round(value * 10) / 10;

function draw(points, at) {
  const pair = (u, v) => at(u, v).map(round).join(" ");
  let path = `M${pair(points[0].u, points[0].v)}`;
  for (let index = 1; index < points.length; index += 1) {
    const [a, b] = [points[index - 1], points[index]];
    if (b.straight) {
      path += `L${pair(b.u, b.v)}`;
    } else if (b.turn) {
      // A quarter turn: along the flow at one end, across it at the other.
      const across = b.u !== points[0].u && b.u !== points[points.length - 1].u;
      path += across ? `Q${pair(b.u, a.v)} ${pair(b.u, b.v)}` : `Q${pair(a.u, b.v)} ${pair(b.u, b.v)}`;
    } else {
      const reach = (b.u - a.u) / 2;
      path += `C${pair(a.u + reach, a.v)} ${pair(b.u - reach, b.v)} ${pair(b.u, b.v)}`;
    }
  }
  return path;
}

function head(points, at, axes) {
  const { u, v } = points[points.length - 1];
  const pair = (a, b) => at(a, b).map(round).join(" ");
  return `M${pair(u, v)}L${pair(u - 9, v - 5)}L${pair(u - 9, v + 5)}Z`;
}

const LABEL = { width: 112, height: 22 };

/**
 * Returns the position of a channel's label: the middle of its first or last leg. Hidden if each of
 * these is occupied.
 */
function mark(points, labels, obstacles, at) {
  const legs = [];
  for (let index = 1; index < points.length; index += 1) {
    const [a, b] = [points[index - 1], points[index]];
    if (!b.turn && (!b.straight || b.back)) legs.push(at((a.u + b.u) / 2, (a.v + b.v) / 2));
  }
  const [half, rise] = [LABEL.width / 2, LABEL.height / 2];
  const isFree = ([x, y]) => labels.every((other) => Math.abs(other[0] - x) >= LABEL.width || Math.abs(other[1] - y) >= LABEL.height)
    && obstacles.every((box) => x + half <= box.x || x - half >= box.x + box.width || y + rise <= box.y || y - rise >= box.y + box.height);
  const free = legs.find(isFree);
  if (free !== undefined) labels.push(free);
  const [x, y] = free ?? legs[0];
  return { x: round(x), y: round(y), crowded: free === undefined };
}
