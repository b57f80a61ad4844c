// Collapses a large graph, until its cards are legible.
//
//   level 0   all nodes
//   level 1   twins: stages with the same neighbors, whose names differ only by a number
//   level 2   and chains: stages in a row without branches
//   level 3   lanes: all nodes of a team or sponsor; and twins and chains of the other nodes
//
// A group is a node with a `members` list. It has the sum of the rates of its members, and the worst
// of all their other values. The channels between two groups are one channel.

export const LEVEL_MAX = 3;

/** Minimum number of nodes in a group of each kind. */
const [TWINS_MIN, CHAIN_MIN, LANE_MIN] = [3, 3, 2];
const LANE = "\u0000lane";

const RANK = { ok: 0, warning: 1, critical: 2 };

const worst = (levels) => levels.reduce((a, b) => (RANK[b] > RANK[a] ? b : a), "ok");
const most = (values) => values.reduce((a, b) => (b !== null && (a === null || b > a) ? b : a), null);
const sum = (values) => values.reduce((a, b) => a + b, 0);

/**
 * Collapses `snapshot`. Groups whose id is in `open` keep their members. Returns `nodes`, `edges`,
 * and `home`, which maps each node to the node that is shown for it.
 */
export function collapse(snapshot, level, open) {
  const home = new Map(snapshot.nodes.map((node) => [node.id, node.id]));
  if (level >= 3) join(home, lanes(snapshot), "lane", LANE_MIN, open);
  if (level >= 1) join(home, twins(snapshot), "twins", TWINS_MIN, open);
  if (level >= 2) join(home, chains(snapshot, home), "chain", CHAIN_MIN, open);
  const members = new Map();
  for (const node of snapshot.nodes) {
    const id = home.get(node.id);
    if (!members.has(id)) members.set(id, []);
    members.get(id).push(node);
  }
  const nodes = [...members].map(([id, all]) => (all.length === 1 && all[0].id === id ? all[0] : group(id, all)));
  return { nodes, edges: bundles(snapshot, home), home };
}

/** Maps the nodes of each part to a new group, unless a node is in a lane that is collapsed. */
function join(home, parts, kind, least, open) {
  for (const ids of parts) {
    const id = `\u0000${kind}\u0000${ids[0]}`;
    if (ids.length < least || open.has(id) || ids.some((one) => home.get(one).startsWith(LANE))) continue;
    for (const one of ids) home.set(one, id);
  }
}

function neighbours(snapshot, home) {
  const at = (id) => (home === undefined ? id : home.get(id));
  const sides = new Map(snapshot.nodes.map((node) => [at(node.id), { ins: new Set(), outs: new Set() }]));
  for (const edge of snapshot.edges) {
    const [from, to] = [at(edge.from), at(edge.to)];
    if (from === to || !sides.has(from) || !sides.has(to)) continue;
    sides.get(from).outs.add(to);
    sides.get(to).ins.add(from);
  }
  return sides;
}

function twins(snapshot) {
  const sides = neighbours(snapshot);
  const alike = new Map();
  for (const node of snapshot.nodes) {
    const { ins, outs } = sides.get(node.id);
    if (ins.size + outs.size === 0) continue;
    const key = [node.name.replace(/\d+/g, "#"), [...ins].sort(), [...outs].sort()].join("\u0001");
    if (!alike.has(key)) alike.set(key, []);
    alike.get(key).push(node.id);
  }
  return alike.values();
}

function chains(snapshot, home) {
  const sides = neighbours(snapshot, home);
  const [only, found, seen] = [(set) => (set.size === 1 ? [...set][0] : null), [], new Set()];
  const next = (id) => {
    const to = only(sides.get(id).outs);
    const isFree = to !== null && !id.startsWith(LANE) && !to.startsWith(LANE);
    return isFree && only(sides.get(to).ins) === id ? to : null;
  };
  const before = (id) => {
    const from = only(sides.get(id).ins);
    return from !== null && next(from) === id ? from : null;
  };
  const inside = new Map();
  for (const [node, id] of home) (inside.get(id) ?? inside.set(id, []).get(id)).push(node);
  for (const id of sides.keys()) {
    if (before(id) !== null || seen.has(id)) continue;
    const chain = [];
    for (let at = id; at !== null && !seen.has(at); at = next(at)) {
      seen.add(at);
      chain.push(...inside.get(at));
    }
    found.push(chain);
  }
  return found;
}

function lanes(snapshot) {
  const found = new Map();
  for (const { id, place } of snapshot.nodes) (found.get(place) ?? found.set(place, []).get(place)).push(id);
  return found.values();
}

/** Returns the name of a group: that of its place, or that of its first member. */
const nameOf = (id, all) => (id.startsWith(LANE) ? all[0].place : `${all[0].name} +${all.length - 1}`);

function group(id, all) {
  const of = (name) => most(all.map((node) => node[name]));
  const busiest = all.reduce((a, b) => ((b.busy ?? 0) > (a.busy ?? 0) ? b : a));
  return {
    id, kind: "group", name: nameOf(id, all), place: all[0].place, members: all.map((node) => node.id), busiest: busiest.name,
    state: all.some((node) => node.state === "failed") ? "failed" : all.every((node) => node.state === "ended") ? "ended" : "running",
    level: worst(all.map((node) => node.level)), rate: sum(all.map((node) => node.rate)),
    busy: of("busy"), starved: null, back_pressured: null, alive: null, waiting: of("waiting"), longest: of("longest"), held_seconds: of("held_seconds"),
    failures: sum(all.map((node) => node.failures)), restarts: sum(all.map((node) => node.restarts)), slow: sum(all.map((node) => node.slow)),
  };
}

function bundles(snapshot, home) {
  const pairs = new Map();
  for (const edge of snapshot.edges) {
    const [from, to] = [home.get(edge.from), home.get(edge.to)];
    if (from === undefined || to === undefined) continue;
    if (from === to && from !== edge.from) continue;
    const grouped = from !== edge.from || to !== edge.to;
    const key = grouped ? `${from}\u0001${to}` : edge.id;
    if (!pairs.has(key)) pairs.set(key, { from, to, all: [] });
    pairs.get(key).all.push(edge);
  }
  return [...pairs].map(([id, { from, to, all }]) => {
    if (all.length === 1) return { ...all[0], from, to };
    return {
      id, from, to, count: all.length, level: worst(all.map((edge) => edge.level)), rate: sum(all.map((edge) => edge.rate)),
      fill_p80: Math.max(...all.map((edge) => edge.fill_p80)), feedback: all.every((edge) => edge.feedback), closed: all.every((edge) => edge.closed),
    };
  });
}
