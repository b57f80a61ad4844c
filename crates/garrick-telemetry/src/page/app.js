// The page: the stream fills the store, and the store feeds the graph, the tables and the details.
//
//   stream -> store -> graph, table, details, vitals, actors, failures, tree       at most once a frame, and not while paused or hidden

import { attribute, byId, write } from "./dom.js";
import { Details, Pipelines, Vitals } from "./details.js";
import { Actors } from "./actors.js";
import { Failures } from "./failures.js";
import { plain } from "./format.js";
import { Graph } from "./graph.js";
import { Own } from "./own.js";
import { Store } from "./store.js";
import { ask, giveToken, Stream } from "./stream.js";
import { SHEET_COUNT, Table } from "./table.js";
import { Tree } from "./tree.js";

const store = new Store();
const page = { paused: false, skipped: 0, link: "connecting", retryAt: 0, selected: null, searched: "", due: false, wanted: false };

const graph = new Graph((id) => select(id), () => draw());
const details = new Details((id) => select(id, true));
const table = new Table((id) => select(id, true), () => draw());
const vitals = new Vitals();
const actors = new Actors((id) => select(id, true));
const failures = new Failures();
const tree = new Tree();
const own = new Own();
const pipelines = new Pipelines((id) => select(id, true));

// Drawing.

function draw() {
  page.wanted = false;
  if (store.snapshot === null) return;
  const { snapshot } = store;
  const began = performance.now();
  const name = plain(snapshot.process.name);
  write(byId("process"), name);
  write(byId("pid"), `pid ${snapshot.process.pid}`);
  document.title = `${name} \u00b7 Garrick`;
  const words = [[snapshot.nodes.length, "node"], [snapshot.edges.length, "channel"], [snapshot.sponsors.length, "sponsor"]];
  write(byId("graph-count"), words.map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`).join(", "));
  vitals.update(store);
  pipelines.update(store);
  const search = table.words().join(" ");
  graph.update(snapshot, table.matches(store), search !== page.searched);
  page.searched = search;
  table.update(store, page.selected);
  details.update(store, page.selected);
  actors.update(snapshot);
  failures.update(snapshot);
  tree.update(snapshot);
  own.update(snapshot, table.words());
  // Records the duration, which the browser's profiler shows as well.
  performance.measure("draw", { start: began });
  document.documentElement.dataset.sequence = snapshot.sequence;
}

/** Longest rest after a frame. */
const REST_MS_MAX = 1000;

/**
 * Draws with one of the next frames, regardless of the number of snapshots until then. After each
 * frame, the page rests as long as the frame took. So it handles clicks and keys in time, even if
 * snapshots arrive faster than the browser can draw them.
 */
function drawSoon() {
  page.wanted = true;
  if (page.due || document.hidden) return;
  page.due = true;
  requestAnimationFrame(() => {
    const began = performance.now();
    performance.clearMeasures("draw");
    try {
      draw();
    } finally {
      // The browser computes styles and the layout after this function, and paints. Then timers run.
      setTimeout(() => setTimeout(rested, Math.min(performance.now() - began, REST_MS_MAX)));
    }
  });
}

/** Draws again if something has changed since the last frame. */
function rested() {
  page.due = false;
  if (page.wanted) drawSoon();
}

function select(id, reveal = false) {
  page.selected = store.things.has(id) ? id : null;
  graph.select(page.selected);
  if (reveal && page.selected !== null) graph.reveal(page.selected);
  draw();
  openDrawer();
}

/** True where the details are not beside the graph, but below it. */
const small = matchMedia("(max-width: 1040px)");
/** Number of pixels of the details that must be in view. */
const DETAILS_PX_MIN = 160;

/** Shows the details over the page if they are not in view. They go back when nothing is selected. */
function openDrawer() {
  if (page.selected === null) {
    attribute(document.body, "data-drawer", null);
  } else if (!document.body.hasAttribute("data-drawer")) {
    const { top, bottom } = byId("details").getBoundingClientRect();
    const visible = Math.min(bottom, innerHeight) - Math.max(top, 0);
    if (small.matches || visible < DETAILS_PX_MIN) attribute(document.body, "data-drawer", "");
  }
}

// The stream.

function take(snapshot) {
  const back = page.link !== "live";
  const restarted = store.record(snapshot);
  if (back || restarted) recall();
  if (restarted) {
    say("The process was started again.");
    page.skipped = 0;
  }
  status("live");
  if (page.paused && store.snapshot !== null) {
    page.skipped += 1;
    showStatus();
    return;
  }
  store.show();
  drawSoon();
}

/** Requests the history from before the page was opened or reconnected. */
async function recall() {
  try {
    const answer = await ask("history.json");
    if (answer.ok) store.remember(await answer.json());
  } catch {
    // Without the answer, the history begins now.
  }
}

function alert(value) {
  say(`${value.level}: ${plain(value.text)}`);
}

const say = (text) => write(byId("say"), text);

function status(link, retryInMs = 0) {
  const before = page.link;
  page.link = link;
  page.retryAt = Date.now() + retryInMs;
  if (before !== link) {
    // The form stays while a token is tried, so that text typed meanwhile is not lost.
    if (link === "locked" || link === "live") byId("lock").hidden = link === "live";
    byId("retry").hidden = link !== "lost";
    if (link === "locked") byId("token").focus();
  }
  showStatus();
}

function showStatus() {
  const seconds = Math.max(0, Math.ceil((page.retryAt - Date.now()) / 1000));
  const paused = page.paused && page.link === "live";
  const text = paused ? "Paused" : { connecting: store.snapshot === null ? "Connecting" : "Reconnecting", live: "Live", lost: "Connection lost", locked: "Token needed" }[page.link];
  attribute(byId("link"), "data-state", paused ? "paused" : page.link);
  write(byId("link-text"), text);
  // Screen readers announce each change of the state, but not the numbers that change all the time.
  const skipped = paused && page.skipped > 0 ? `${page.skipped} skipped` : "";
  write(byId("link-more"), page.link === "lost" ? `again in ${seconds} s` : skipped);
  attribute(document.body, "data-stale", page.link === "live" ? null : "");
  if (page.link === "lost" && seconds > 0) setTimeout(() => page.link === "lost" && showStatus(), 1000);
}

const stream = new Stream({
  event: (kind, value) => (kind === "alert" ? alert(value) : take(value)),
  state: (name, retryInMs) => {
    // The state changes from connecting to live with the first snapshot, not with the first byte.
    if (name !== "live") status(name, retryInMs);
  },
});

// The buttons and keys.

function pause() {
  page.paused = !page.paused;
  page.skipped = 0;
  attribute(byId("pause"), "aria-pressed", page.paused);
  write(byId("pause-text"), page.paused ? "Resume" : "Pause");
  showStatus();
  if (!page.paused && store.last !== undefined) store.show();
  // A frame that is due must not change the page after a pause has begun.
  draw();
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const themeNow = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");

function theme() {
  const next = themeNow() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    // A user who chooses the system's theme follows the system again.
    if (next === (dark.matches ? "dark" : "light")) localStorage.removeItem("garrick-theme");
    else localStorage.setItem("garrick-theme", next);
  } catch {
    // Storage may be forbidden. Then the choice is not stored.
  }
  nameTheme();
}

function nameTheme() {
  const other = themeNow() === "dark" ? "light" : "dark";
  byId("theme").title = `Switch to ${other} (t)`;
  attribute(byId("theme"), "aria-label", `Switch to ${other}`);
}

function escape() {
  if (document.activeElement === table.filter || table.filter.value !== "") {
    table.filter.value = "";
    table.filter.blur();
    draw();
  } else {
    select(null);
  }
}

const KEYS = {
  p: pause,
  " ": pause,
  "/": () => { table.filter.focus(); table.filter.select(); },
  "?": () => byId("help").showModal(),
  t: theme,
  g: () => { byId("graph-panel").scrollIntoView({ block: "nearest" }); graph.focus(); },
  f: () => graph.fit(),
  0: () => graph.fit(),
  e: () => { graph.toggleLevel(); draw(); },
  "+": () => graph.zoomIn(),
  "=": () => graph.zoomIn(),
  "-": () => graph.zoomOut(),
  Escape: escape,
};
for (let index = 0; index < SHEET_COUNT; index += 1) KEYS[index + 1] = () => table.choose(index, true);

addEventListener("keydown", (event) => {
  const { target, key } = event;
  const typing = target.matches("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open || (typing && key !== "Escape")) return;
  // The space bar activates a focused button. Elsewhere it pauses.
  if (key === " " && target.closest("button, a, summary, [role=button]") !== null) return;
  const act = KEYS[key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});

byId("pause").addEventListener("click", pause);
byId("theme").addEventListener("click", theme);
byId("retry").addEventListener("click", () => stream.retry());
byId("fit").addEventListener("click", () => graph.fit());
byId("expand").addEventListener("click", () => { graph.toggleLevel(); draw(); });
byId("zoom-in").addEventListener("click", () => graph.zoomIn());
byId("zoom-out").addEventListener("click", () => graph.zoomOut());
byId("details-close").addEventListener("click", () => select(null));
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
byId("lock").addEventListener("submit", (event) => {
  event.preventDefault();
  giveToken(byId("token").value);
  byId("token").value = "";
  stream.retry();
});
dark.addEventListener("change", nameTheme);
document.addEventListener("visibilitychange", () => drawSoon());
new ResizeObserver(() => drawSoon()).observe(byId("graph"));

nameTheme();
stream.run();
