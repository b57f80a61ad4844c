// The actors that stand out, in a separate table. The panel is hidden while there are none.

import { arrange, attribute, byId, html, write } from "./dom.js";
import { percent, plain, si, span } from "./format.js";

/** Number of waiting messages from which on a mailbox is shown as trouble. */
const LONG = 10000;

export class Actors {
  constructor(select) {
    this.select = select;
    this.body = document.querySelector("#actors tbody");
    this.rows = new Map();
  }

  update(snapshot) {
    const actors = snapshot.actors ?? [];
    byId("actors-panel").hidden = actors.length === 0;
    write(byId("actors-count"), actors.length === 0 ? "" : "the longest mailboxes, the oldest messages, and the most time");
    const nodes = new Map(snapshot.nodes.map((node) => [node.id, node]));
    this.rows = new Map(actors.map((actor) => [actor.id, this.rows.get(actor.id) ?? this.row(actor)]));
    for (const actor of actors) this.fill(this.rows.get(actor.id), actor, nodes.get(actor.node));
    arrange(this.body, [...this.rows.values()].map(({ line }) => line));
  }

  row(actor) {
    const button = html("button", { type: "button", class: "link", dir: "auto" });
    button.addEventListener("click", () => this.select(actor.node));
    const cells = [html("th", { scope: "row" }, button), html("td"), html("td"), html("td", { class: "number" }), html("td", { class: "number" }), html("td", { class: "number" })];
    return { line: html("tr", {}, ...cells), button, cells };
  }

  fill({ button, cells }, actor, node) {
    write(button, plain(actor.name));
    write(cells[1], node === undefined ? "" : plain(node.name));
    write(cells[2], node === undefined ? "" : plain(node.place));
    write(cells[3], si(actor.waiting));
    attribute(cells[3], "data-bad", actor.waiting >= LONG ? "" : null);
    write(cells[4], span(actor.oldest_seconds));
    write(cells[5], percent(actor.busy));
  }
}
