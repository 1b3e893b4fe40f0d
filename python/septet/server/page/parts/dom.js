// Builds elements. Text only ever enters the page as text nodes, so nothing in an entry can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("p.note.big", {id: "x", on: {click}}, "text", child, [more children]). */
export function h(what, properties = {}, ...children) {
  const [name, ...classes] = what.split(".");
  return made(document.createElement(name || "div"), classes, properties, children);
}

/** Make an SVG element in the same way. */
export function svg(what, properties = {}, ...children) {
  const [name, ...classes] = what.split(".");
  return made(document.createElementNS(SVG, name), classes, properties, children);
}

/** Put children in the place of those that an element has. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

function made(element, classes, properties, children) {
  if (classes.length) element.classList.add(...classes);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    } else if (name === "vars") {
      // Custom properties, by CSSOM: the policy allows no style attributes.
      for (const [own, given] of Object.entries(value)) element.style.setProperty(own, String(given));
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== undefined && child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

let numbered = 0;

/** Return an id that no other element has, for labels. */
export function ownId(prefix) {
  numbered += 1;
  return `${prefix}-${numbered}`;
}
