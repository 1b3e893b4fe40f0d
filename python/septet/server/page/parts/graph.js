// The links of an entry as a small graph: it stands in the middle, what leads to it on the left, where it leads to on
// the right, and what is behind those further out. Every node is a link, so that Tab and Enter go from entry to entry.

import { h, svg } from "./dom.js";

const [ROW, COLUMN, NODE, MARGIN] = [32, 236, 176, 8];
const MOST_LETTERS = 23;

/** Return the graph of a neighbourhood; `addressOf(id)` is where a node leads. */
export function linkGraph({ nodes, links, left_out: leftOut }, addressOf) {
  const [middle] = nodes;
  const placed = place(nodes, links);
  const columns = [...new Set([...placed.values()].map(({ column }) => column))];
  const [first, last] = [Math.min(...columns), Math.max(...columns)];
  const rows = Math.max(...[...placed.values()].map(({ row }) => row + 1), 1);
  const [width, height] = [(last - first) * COLUMN + NODE + 2 * MARGIN, rows * ROW + 2 * MARGIN];
  const at = (id) => {
    const { column, row, of } = placed.get(id);
    return { x: MARGIN + (column - first) * COLUMN, y: MARGIN + (row + (rows - of) / 2 + 0.5) * ROW };
  };
  const picture = svg("svg.graph", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `Links around ${middle.title || middle.id}: ${nodes.length} entries, ${links.length} links`,
  }, links.map((link) => line(link, at)), nodes.map((node) => box(node, at(node.id), addressOf, links, middle)));
  picture.addEventListener("keydown", (event) => steer(event, picture, at));
  const window = h("div.scroll", {}, picture);
  // Where it is wider than its place, the entry itself is what is seen first.
  requestAnimationFrame(() => (window.scrollLeft = at(middle.id).x + NODE / 2 - window.clientWidth / 2));
  return h("div.graph-holder", {}, window,
    leftOut > 0 && h("p.small.soft", {}, `${leftOut.toLocaleString("en")} more entries are linked, too many to draw.`));
}

/** Give each node a column (0 the middle, negative to the left) and a row in it; neighbours stand beside their parent. */
function place(nodes, links) {
  const [middle] = nodes;
  const placed = new Map([[middle.id, { column: 0, row: 0, of: 1 }]]);
  const columns = new Map();
  const put = (id, column) => {
    const row = columns.get(column) ?? 0;
    columns.set(column, row + 1);
    placed.set(id, { column, row });
  };
  const leads = new Set(links.filter(({ source }) => source === middle.id).map(({ target }) => target));
  const direct = nodes.filter(({ steps }) => steps === 1);
  for (const { id } of direct) put(id, leads.has(id) ? 1 : -1);
  const behind = new Set(nodes.filter(({ steps }) => steps === 2).map(({ id }) => id));
  for (const { id } of direct) {
    const side = Math.sign(placed.get(id).column);
    for (const { source, target } of links) {
      const other = source === id ? target : target === id ? source : null;
      if (other !== null && behind.delete(other)) put(other, 2 * side);
    }
  }
  for (const [id, spot] of placed) if (id !== middle.id) spot.of = columns.get(spot.column);
  return placed;
}

function line({ source, target, type }, at) {
  const [from, to] = [at(source), at(target)];
  const right = from.x <= to.x;
  const [x1, x2] = from.x === to.x ? [from.x + NODE, to.x + NODE] : right ? [from.x + NODE, to.x] : [from.x, to.x + NODE];
  const bend = from.x === to.x ? 34 : (right ? 1 : -1) * (COLUMN - NODE) / 1.8;
  const path = `M${x1} ${from.y}C${x1 + bend} ${from.y} ${x2 + (from.x === to.x ? bend : -bend)} ${to.y} ${x2} ${to.y}`;
  const tip = from.x === to.x ? -1 : right ? 1 : -1;
  return svg("g.edge", { "aria-hidden": "true" }, svg("title", {}, type), svg("path", { d: path }),
    svg("path.tip", { d: `M${x2} ${to.y}l${-7 * tip} -3.5v7z` }));
}

function box(node, { x, y }, addressOf, links, middle) {
  const own = node.id === middle.id;
  const name = node.title || node.id;
  const ways = links.filter(({ source, target }) => [source, target].includes(node.id)).map(({ type }) => type);
  const label = own ? `${name}, the entry itself` : `${name}, ${node.kind}, ${node.steps === 1 ? "linked" : "two steps away"} as ${[...new Set(ways)].join(", ")}`;
  const letters = [...name];
  const hidden = node.links - node.shown;
  const most = hidden > 0 ? MOST_LETTERS - 4 : MOST_LETTERS;
  return svg(`a.node.steps-${node.steps}`, { href: addressOf(node.id), "aria-label": label, "aria-current": own && "true", "data-id": node.id },
    svg("title", {}, `${name} · ${node.kind} · ${node.domain}${hidden > 0 ? ` · ${hidden} links not shown` : ""}`),
    svg("rect", { x, y: y - 13, width: NODE, height: 26, rx: 8 }),
    svg("text", { x: x + 10, y: y + 4 }, letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name),
    hidden > 0 && svg("text.more", { x: x + NODE - 6, y: y + 4, "text-anchor": "end" }, `+${hidden}`));
}

/** Arrow keys go to the nearest node on that side. */
function steer(event, picture, at) {
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const way = ways[event.key];
  const from = event.target.closest?.(".node");
  if (!way || !from) return;
  event.preventDefault();
  event.stopPropagation();
  const here = at(from.dataset.id);
  const far = (node) => {
    const { x, y } = at(node.dataset.id);
    const [dx, dy] = [x - here.x, y - here.y];
    const ahead = dx * way[0] + dy * way[1];
    return ahead <= 0 || (way[1] !== 0 && dx !== 0) ? Infinity : ahead + Math.abs(dx * way[1] + dy * way[0]);
  };
  const others = [...picture.querySelectorAll(".node")].filter((node) => Number.isFinite(far(node)));
  others.sort((a, b) => far(a) - far(b))[0]?.focus();
}
