// Connection to the process: server-sent events read with `fetch`, because an `EventSource` cannot
// send a token.
//
//   connecting -> live -> lost -> (wait, twice as long each time) -> connecting
//                              -> locked (401) -> a token is given -> connecting

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 8000;
/** Silence after which a stream counts as dead. The server sends something more often. */
const SILENCE_MS_MAX = 45000;
const TOKEN = "garrick-token";

/** Token, kept as long as the tab. It stays in the address (`?token=`) only until it is read. */
function takeToken() {
  const here = new URL(location.href);
  const given = here.searchParams.get("token");
  try {
    if (given !== null) sessionStorage.setItem(TOKEN, given);
    else return sessionStorage.getItem(TOKEN);
  } catch {
    // Storage may be forbidden. Then only this page keeps the token.
  }
  here.searchParams.delete("token");
  history.replaceState(null, "", here);
  return given;
}

let token = takeToken();

/** Stores a token that the user typed. */
export function giveToken(text) {
  token = text;
  try {
    sessionStorage.setItem(TOKEN, text);
  } catch {
    // Storage may be forbidden. Then only this page keeps the token.
  }
}

/** Sends a request to the process, with the token if there is one. */
export function ask(path, signal) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  return fetch(path, { headers, signal, cache: "no-store", credentials: "same-origin" });
}

/** Parses the text of a stream into events. The text may arrive in arbitrary pieces. */
class Parser {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
    this.event = "";
    this.data = [];
  }

  push(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  line(line) {
    if (line === "") {
      if (this.data.length > 0) this.onEvent(this.event, this.data.join("\n"));
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
  }
}

/** Keeps the connection alive as long as the page. */
export class Stream {
  /** Creates the connection. `on` has `event(kind, value)` and `state(name, retryInMs)`. */
  constructor(on) {
    this.on = on;
    this.wait = WAIT_MS_MIN;
    this.wake = () => {};
    this.hurry = false;
    addEventListener("online", () => this.retry());
  }

  async run() {
    for (;;) {
      this.on.state("connecting");
      const locked = await this.attempt();
      if (locked) this.on.state("locked");
      else this.on.state("lost", this.wait);
      if (!this.hurry) await this.rest(locked ? null : this.wait);
      this.hurry = false;
      this.wait = Math.min(this.wait * 2, WAIT_MS_MAX);
    }
  }

  /** Retries without a pause: now, or right after the current attempt has failed. */
  retry() {
    this.hurry = true;
    this.wake();
  }

  rest(ms) {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (ms !== null) setTimeout(resolve, ms);
    });
  }

  /** Reads one stream to its end. Returns true if the process requires a token. */
  async attempt() {
    const stop = new AbortController();
    let guard = setTimeout(() => stop.abort(), SILENCE_MS_MAX);
    try {
      const answer = await ask("events", stop.signal);
      if (answer.status === 401 || answer.status === 403) return true;
      if (!answer.ok) return false;
      const parser = new Parser((kind, data) => this.take(kind, data));
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return false;
        clearTimeout(guard);
        guard = setTimeout(() => stop.abort(), SILENCE_MS_MAX);
        parser.push(value);
      }
    } catch {
      // Refused, cut or silent: the user sees in all cases that the connection is lost, and the
      // time of the next attempt.
      return false;
    } finally {
      clearTimeout(guard);
      stop.abort();
    }
  }

  take(kind, data) {
    let value;
    try {
      value = JSON.parse(data);
    } catch {
      return;
    }
    this.wait = WAIT_MS_MIN;
    this.hurry = false;
    this.on.event(kind, value);
  }
}
