// Creation of elements, and writing of text. No function interprets a string as markup: names come
// from the watched program, and are text only.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/**
 * Creates an HTML element with attributes (an attribute `onclick` adds a listener) and children.
 */
export const html = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** Creates an SVG element with attributes and children. */
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** Writes text if it differs. Most values do not change, and an unchanged row needs no layout. */
export function write(element, text) {
  const node = element.firstChild;
  if (node === null) {
    if (text !== "") element.append(text);
  } else if (node.data !== text) {
    node.data = text;
  }
}

/** Sets an attribute if it differs. `null` removes it. */
export function attribute(element, name, value) {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}

/** Makes `parent` contain exactly `wanted`, in this order, with as few moves as possible. */
export function arrange(parent, wanted) {
  let at = parent.firstChild;
  for (const child of wanted) {
    if (child === at) at = at.nextSibling;
    else parent.insertBefore(child, at);
  }
  while (at !== null) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
