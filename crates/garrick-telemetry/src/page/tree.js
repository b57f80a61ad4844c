// The supervision trees, as nested lists. The panel is hidden while there are no supervisors. The
// trees are requested only when they have changed and the list is open.

import { byId, html, write } from "./dom.js";
import { clock, plain } from "./format.js";
import { processOf } from "./store.js";
import { ask } from "./stream.js";

/** Number of lines that are shown. The others are counted. */
const LINES_MAX = 500;

const STATES = { running: "running", starting: "starting", restarting: "restarting", stopping: "stopping", stopped: "stopped", given_up: "given up" };
const LEVELS = { running: "ok", starting: "ok", stopping: "ok", stopped: "ok", restarting: "warning", given_up: "critical" };

const plural = (count, word, words) => `${count} ${count === 1 ? word : words}`;

/** Returns a line about a supervisor or a child. */
function line(node) {
  const state = html("span", { class: "level", "data-level": LEVELS[node.state] ?? "ok" }, STATES[node.state] ?? plain(node.state));
  const facts = [];
  if (node.strategy !== null) facts.push(plain(node.strategy));
  else if (node.kind !== "" && node.kind !== node.name) facts.push(plain(node.kind));
  if (node.restarts > 0) facts.push(plural(node.restarts, "restart", "restarts"));
  const parts = [html("span", { class: "name", title: plain(node.path), dir: "auto" }, plain(node.name)), state, html("span", { class: "muted" }, facts.join(", "))];
  const last = node.last_failure;
  if (last !== null) parts.push(html("span", { class: "reason", dir: "auto" }, `${clock(last.unix_ms)} ${plain(last.reason)}`));
  return html("div", { class: "branch" }, ...parts);
}

export class Tree {
  constructor() {
    this.shown = undefined;
    this.newest = undefined;
    this.asking = false;
    this.box = byId("tree-box");
    this.box.addEventListener("toggle", () => this.refresh());
  }

  update(snapshot) {
    const sum = snapshot.supervision;
    const isEmpty = sum === undefined || sum.supervisors === 0;
    byId("tree-panel").hidden = isEmpty;
    if (isEmpty) return;
    // Another process counts its changes from the beginning.
    this.process = processOf(snapshot);
    this.newest = `${this.process}.${sum.changes}`;
    const words = [plural(sum.supervisors, "supervisor", "supervisors"), plural(sum.children, "child", "children"), `${sum.down} not running`, plural(sum.restarts, "restart", "restarts")];
    write(byId("tree-count"), words.join(", "));
    this.refresh();
  }

  /** Requests the trees if they have changed, one request at a time. */
  async refresh() {
    if (this.asking || !this.box.open || this.shown === this.newest) return;
    this.asking = true;
    try {
      const answer = await ask("tree.json");
      if (answer.ok) this.show(await answer.json());
    } catch {
      // The next snapshot asks again.
    }
    this.asking = false;
  }

  show(report) {
    this.shown = `${this.process}.${report.changes}`;
    this.left = LINES_MAX;
    this.skipped = 0;
    byId("tree").replaceChildren(this.list(report.trees));
    write(byId("tree-rest"), this.skipped === 0 ? "" : `and ${this.skipped} more`);
  }

  list(nodes) {
    const items = [];
    for (const node of nodes) {
      if (this.left === 0) {
        this.skipped += 1 + node.children.length + node.omitted;
        continue;
      }
      this.left -= 1;
      const item = html("li", {}, line(node));
      const below = node.given_up.concat(node.children);
      if (below.length > 0) item.append(this.list(below));
      this.skipped += node.omitted;
      items.push(item);
    }
    return html("ul", {}, ...items);
  }
}
