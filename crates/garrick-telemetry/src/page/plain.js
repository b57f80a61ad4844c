// Shows the newest snapshot as two tables. The token, if the address has one, is kept for this tab only.
const here = new URL(location.href);
if (here.searchParams.has("token")) {
  sessionStorage.setItem("garrick-token", here.searchParams.get("token"));
  here.searchParams.delete("token");
  history.replaceState(null, "", here);
}
const token = sessionStorage.getItem("garrick-token");
const headers = token ? { authorization: `Bearer ${token}` } : {};

function fill(id, rows) {
  const lines = rows.map((cells) => {
    const line = document.createElement("tr");
    for (const cell of cells) line.insertCell().textContent = cell;
    return line;
  });
  document.getElementById(id).replaceChildren(...lines);
}

async function look() {
  const status = document.getElementById("status");
  try {
    const answer = await fetch("graph.json", { headers });
    if (!answer.ok) throw new Error(await answer.text());
    const now = await answer.json();
    status.textContent = `${now.process.name}, up ${now.uptime.toFixed(1)} s, ${now.alerts.length} alerts`;
    fill("nodes", now.nodes.map((n) => [n.name, n.place, n.messages, n.rate.toFixed(0), n.level]));
    fill("edges", now.edges.map((e) => [e.id, e.total, e.rate.toFixed(0), e.fill_p80.toFixed(2), e.level]));
  } catch (error) {
    status.textContent = `No answer: ${error.message}`;
  }
  setTimeout(look, 1000);
}
look();
