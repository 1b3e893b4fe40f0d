// Runs in the page and returns in sentences what people would stumble over. Contrast is computed from real styles.
() => {
  const faults = [];
  const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link], [role=tab], [role=slider]";
  const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
  const named = (e) => `<${e.tagName.toLowerCase()}${e.id ? ` #${e.id}` : ""}${e.className?.baseVal ?? e.className ? ` .${e.className.baseVal ?? e.className}` : ""}> ${(e.textContent ?? "").trim().slice(0, 40)}`;
  const seen = new Set();
  const tell = (what) => seen.has(what) || (seen.add(what), faults.push(what));

  // Language and title.
  if (!document.documentElement.lang) tell("the page has no language");
  if (!document.title.trim()) tell("the page has no title");

  // Ids are unique, and references lead somewhere.
  const ids = new Map();
  for (const e of document.querySelectorAll("[id]")) ids.set(e.id, (ids.get(e.id) ?? 0) + 1);
  for (const [id, count] of ids) if (count > 1) tell(`the id ${id} is used ${count} times`);
  for (const name of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const e of document.querySelectorAll(`[${name}]`)) {
      for (const id of e.getAttribute(name).split(/\s+/)) if (!ids.has(id)) tell(`${name} of ${named(e)} leads nowhere: ${id}`);
    }
  }

  // Everything that is used has a name.
  const textOf = (e) => {
    if (!e || e.getAttribute?.("aria-hidden") === "true") return "";
    const own = e.getAttribute?.("aria-label");
    if (own) return own;
    return [...e.childNodes].map((n) => (n.nodeType === 3 ? n.data : n.nodeType === 1 ? (n.tagName === "IMG" ? n.alt : textOf(n)) : "")).join(" ");
  };
  const nameOf = (e) => {
    const by = e.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => textOf(document.getElementById(id))).join(" ").trim();
    const label = e.getAttribute("aria-label") ?? "";
    if (label.trim()) return label.trim();
    if (e.labels?.length) return [...e.labels].map(textOf).join(" ").trim();
    if (["INPUT", "SELECT", "TEXTAREA"].includes(e.tagName)) return "";
    return textOf(e).trim() || e.querySelector?.("title")?.textContent.trim() || "";
  };
  for (const e of all(CONTROLS)) if (!nameOf(e)) tell(`no name: ${named(e)}`);
  for (const e of all("svg:not([aria-hidden=true]):not([aria-hidden=true] svg), [role=img], [role=progressbar], progress, meter, [role=group], table[role]")) {
    if (e.closest("[aria-hidden=true]")) continue;
    if (!nameOf(e)) tell(`no name: ${named(e)}`);
  }
  for (const e of all("img")) if (!e.hasAttribute("alt")) tell(`no alternative text: ${named(e)}`);
  for (const e of all("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) tell(`changes the order of Tab: ${named(e)}`);
  for (const e of all("[aria-hidden=true]")) {
    if (e.matches(":is(a[href], button, input, select, textarea, [tabindex='0'])") || e.querySelector("a[href], button, input, select, textarea, [tabindex='0']"))
      tell(`hidden from screen readers, yet it takes the focus: ${named(e)}`);
  }

  // Landmarks and headings.
  for (const one of ["main", "header", "nav"]) if (!all(one).length) tell(`no landmark: ${one}`);
  if (document.querySelectorAll("main").length > 1) tell("several main landmarks");
  const navs = all("nav");
  if (navs.length > 1) for (const e of navs) if (!nameOf(e)) tell(`one of several navigations without a name: ${named(e)}`);
  let level = 0;
  const headings = all("h1, h2, h3, h4, h5, h6");
  if (headings.filter((e) => e.tagName === "H1").length !== 1) tell(`${headings.filter((e) => e.tagName === "H1").length} headings of the first level: wanted one`);
  for (const e of headings) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) tell(`a heading of level ${own} behind one of ${level}: ${named(e)}`);
    level = own;
  }
  for (const e of all("table")) if (!e.querySelector("th")) tell(`a table without heads: ${named(e)}`);
  for (const e of all("li")) if (!e.parentElement.matches("ul, ol, menu, [role=list]")) tell(`an item without a list: ${named(e)}`);

  // Contrast of text: at least 4.5, or 3 for large text (WCAG 2, 1.4.3).
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const backOf = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest("script, style, noscript, title, desc, option, [disabled], .unseen, .skip, .busy") || !visible(e)) continue;
    const style = getComputedStyle(e);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const inSvg = e.closest("svg") !== null;
    const back = backOf(inSvg ? e.closest("svg").parentElement : e);
    const front = over(rgba(inSvg ? style.fill : style.color), back);
    const ratio = contrast(front, back);
    if (ratio < (large ? 3 : 4.5) - 0.005) tell(`contrast ${ratio.toFixed(2)}: ${named(e)}`);
  }
  // Edges of what is typed into: at least 3 (1.4.11).
  for (const e of all("input:not([type=checkbox], [type=radio], [type=range]), select, textarea")) {
    const style = getComputedStyle(e);
    const back = backOf(e.parentElement);
    const edges = [over(rgba(style.borderTopColor), back), over(rgba(style.backgroundColor), back)];
    if (Math.max(...edges.map((one) => contrast(one, back))) < 2.9) tell(`an edge that is hard to see: ${named(e)}`);
  }

  // Targets: at least 24 by 24 px, but for links within text and what is 24 px apart (2.5.8).
  const boxes = all(CONTROLS).filter((e) => !e.closest(".unseen, .skip")).map((e) => [e, e.getBoundingClientRect()]);
  for (const [e, box] of boxes) {
    if (box.width >= 23.5 && box.height >= 23.5) continue;
    if (e.matches("a") && getComputedStyle(e).display === "inline") continue;
    const label = e.closest("label")?.getBoundingClientRect();
    if (label && label.height >= 23.5 && label.width >= 23.5) continue;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const near = boxes.some(([other, its]) => other !== e && !other.contains(e) && !e.contains(other) &&
      Math.hypot(Math.max(its.left - x, 0, x - its.right), Math.max(its.top - y, 0, y - its.bottom)) < 12);
    if (near) tell(`a small target, ${box.width.toFixed(0)} x ${box.height.toFixed(0)} px: ${named(e)}`);
  }

  // Nothing sticks out to the side.
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) {
    const out = all("main *").find((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".scroll, svg"));
    tell(`${wide} px wider than the window${out ? `: ${named(out)}` : ""}`);
  }
  return faults;
}
