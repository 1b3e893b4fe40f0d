// Two lists side by side, and lines from where a hit is in one to where it is in the other.

import { fill, h, svg } from "./dom.js";
import { marked } from "./hits.js";
import { scoreBar, shown } from "./signals.js";

/** Make the two lists; `draw(left, right, address)` shows {hits, weights} and {hits, weights}. */
export function movedLists(names) {
  const [left, right] = names.map((name) => h("ol.moving", { "aria-label": name }));
  const lines = svg("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  const middle = h("div.lines", {}, lines);
  const element = h("div.moved", {}, left, middle, right);
  element.addEventListener("pointerover", (event) => light(event.target.closest("[data-id]")?.dataset.id));
  element.addEventListener("pointerleave", () => light());
  element.addEventListener("focusin", (event) => light(event.target.closest("[data-id]")?.dataset.id));
  element.addEventListener("focusout", () => light());
  new ResizeObserver(connect).observe(element);

  function light(id) {
    for (const one of element.querySelectorAll("[data-id]")) one.classList.toggle("lit", id !== undefined && one.dataset.id === id);
    element.classList.toggle("lighted", id !== undefined);
  }

  function draw(one, other, address) {
    const held = document.activeElement?.closest?.(".moving [data-id]")?.dataset.id;
    fill(left, rows(one, other, address, (by, place) => (by === null ? "not there" : `→ ${place}`)));
    fill(right, rows(other, one, address, (by) => (by === null ? "new" : by === 0 ? "=" : by > 0 ? `▲ ${by}` : `▼ ${-by}`)));
    connect();
    if (held) [...right.children].find((row) => row.dataset.id === held)?.querySelector("a").focus({ preventScroll: true });
  }

  function connect() {
    const box = middle.getBoundingClientRect();
    if (!box.width) return;
    lines.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const height = (row) => {
      const own = row.getBoundingClientRect();
      return own.top + own.height / 2 - box.top;
    };
    const there = new Map([...right.children].map((row) => [row.dataset.id, row]));
    fill(lines, [...left.children].filter((row) => there.has(row.dataset.id)).map((row) => {
      const [from, to] = [row, there.get(row.dataset.id)].map(height);
      const half = box.width / 2;
      const way = to < from - 1 ? "up" : to > from + 1 ? "down" : "level";
      return svg(`path.${way}`, { "data-id": row.dataset.id, d: `M0 ${from}C${half} ${from} ${half} ${to} ${box.width} ${to}` });
    }));
  }

  return { element, draw };
}

function rows({ hits, weights }, other, address, sign) {
  const most = Math.max(...hits.map(({ score }) => score), 1e-9);
  const places = new Map(other.hits.map(({ id }, n) => [id, n + 1]));
  return hits.map((hit, n) => {
    const place = places.get(hit.id);
    const by = place === undefined ? null : place - (n + 1);
    const about = hit.entry ?? hit;
    return h("li", { "data-id": hit.id, class: by === null ? "alone" : undefined },
      h("span.rank.number", { "aria-hidden": "true" }, n + 1),
      h("a", { href: address(hit.id), title: hit.id, "aria-label": `${n + 1}. ${about.title || hit.id}${by === null ? ", only here" : by === 0 ? "" : `, ${place} there`}` },
        marked(hit.marked?.title ?? [{ text: about.title || hit.id, match: false }])),
      h("span.change.number", { "aria-hidden": "true" }, sign(by, place)),
      h("span.score.number", {}, shown(hit.score)),
      scoreBar(hit, weights, most));
  });
}

/** Say in a sentence how two lists of hits differ. */
export function difference(one, other) {
  const places = new Map(other.map(({ id }, n) => [id, n]));
  const shared = one.filter(({ id }) => places.has(id));
  const level = one.filter(({ id }, n) => places.get(id) === n).length;
  if (level === one.length && one.length === other.length) return "Both have the same hits in the same order.";
  return `${level} of ${one.length} in the same place, ${shared.length - level} moved, ${one.length - shared.length} only left, ${other.length - shared.length} only right.`;
}
