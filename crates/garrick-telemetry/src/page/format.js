// Values in a readable form: three significant digits, SI prefixes, and thin non-breaking spaces.

const THIN = "\u202f";
export const NONE = "\u2013";

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];
const known = (value) => typeof value === "number" && Number.isFinite(value);

function digits(value) {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : 2);
}

/** Formats a number: 1234567 is "1.23 M". */
export function si(value, unit = "") {
  if (!known(value)) return NONE;
  let step = 0;
  // 999.5 would be rounded to 1000, so it gets the next prefix.
  while (Math.abs(value) >= 999.5 && step < PREFIXES.length - 1) {
    value /= 1000;
    step += 1;
  }
  const tail = PREFIXES[step] + unit;
  const number = step === 0 ? digits(value) : value.toPrecision(3);
  return tail === "" ? number : number + THIN + tail;
}

export const rate = (value) => (known(value) ? si(value, "/s").replace(`${THIN}/s`, "/s") : NONE);
export const bytes = (value) => si(value, "B");

/** Formats a duration in seconds: 0.25 is "250 ms", and minutes look like those of `duration`. */
export function span(value) {
  if (known(value) && value > 0) {
    if (value < 0.9995e-6) return si(value * 1e9, "ns");
    if (value < 0.9995e-3) return si(value * 1e6, "\u00b5s");
    if (value < 0.9995) return si(value * 1000, "ms");
  }
  return value < 60 ? si(value, "s") : duration(value);
}

/** Formats a share: 0.432 is "43 %". A share close to 0 is "<1 %". */
export function percent(share) {
  if (!known(share)) return NONE;
  if (share > 0 && share < 0.005) return `<1${THIN}%`;
  return `${(share * 100).toFixed(0)}${THIN}%`;
}

/** Formats a number of cores in use. */
export const cores = (value) => (known(value) ? `${value.toFixed(2)}` : NONE);

/** Formats seconds, for example as "1 h 02 min". */
export function duration(seconds) {
  if (!known(seconds)) return NONE;
  const all = Math.floor(seconds);
  const two = (value) => String(value).padStart(2, "0");
  const [days, hours] = [Math.floor(all / 86400), Math.floor(all / 3600) % 24];
  const [minutes, rest] = [Math.floor(all / 60) % 60, all % 60];
  if (days > 0) return `${days}${THIN}d ${two(hours)}${THIN}h`;
  if (hours > 0) return `${hours}${THIN}h ${two(minutes)}${THIN}min`;
  if (minutes > 0) return `${minutes}${THIN}min ${two(rest)}${THIN}s`;
  return `${rest}${THIN}s`;
}

export const clock = (unixMs) => new Date(unixMs).toLocaleTimeString(undefined, { hour12: false });

const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const BLANK = "\u2423";

/** Makes invisible characters and direction marks in a name visible. */
export const plain = (name) => String(name ?? "").replace(INVISIBLE, "\ufffd").trim() || BLANK;

const pen = document.createElement("canvas").getContext("2d");
const fitted = new Map();
const FITTED_MAX = 8192;

/** Truncates a name at its end to `width` pixels in `font`. */
export function fit(name, font, width) {
  const key = `${font}|${width}|${name}`;
  let cut = fitted.get(key);
  if (cut === undefined) {
    if (fitted.size >= FITTED_MAX) fitted.clear();
    cut = measure(plain(name), font, width);
    fitted.set(key, cut);
  }
  return cut;
}

function measure(name, font, width) {
  pen.font = font;
  if (pen.measureText(name).width <= width) return name;
  const letters = Array.from(name.slice(0, 256));
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const fits = pen.measureText(`${letters.slice(0, middle).join("")}\u2026`).width <= width;
    if (fits) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("").trimEnd()}\u2026`;
}

/** Joins as many words as fit into `width` pixels in `font`, the first ones first. */
export function fitWords(words, font, width) {
  for (let count = words.length; count > 0; count -= 1) {
    const text = words.slice(0, count).join(" \u00b7 ");
    if (fit(text, font, width) === text) return text;
  }
  return words.length > 0 ? fit(words[0], font, width) : "";
}

/** Returns a round number that is not less than `value`, for the end of an axis. */
export function ceiling(value) {
  if (!known(value) || value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

export const SIGNS = { ok: "", warning: "\u25b2", critical: "\u25c6" };

/** Returns the number of the color, of five, for a share from 0 to 1. */
export const load = (share) => Math.min(4, Math.max(0, Math.floor((share || 0) * 5)));
