// The view of memories: captured ones, those printed to each session, superseded ones.

import { fill, h } from "../parts/dom.js";
import { makeActing } from "../parts/acting.js";
import { capturedList } from "../parts/captured.js";
import { printedList } from "../parts/printed.js";
import { supersededList } from "../parts/superseded.js";
import { step } from "../parts/hits.js";

export const name = "memories";
export const title = "Memories";
export const key = "m";

const PARTS = { captured: ["Captured", capturedList], told: ["Told", printedList], superseded: ["Superseded", supersededList] };

/** Make the view. */
export function create(context) {
  const acting = makeActing(context);
  const addressOf = (params) => context.addressOf(name, params);
  /** Show other parameters; what is typed makes no step back. */
  const go = (params, typing) => {
    context.go(name, params, { replace: typing });
    if (typing) show(Object.fromEntries(Object.entries(params).filter(([, value]) => value)));
  };
  const own = { context, acting, addressOf, go, entryAddress: (id) => context.addressOf("browse", { id }) };
  const lists = new Map();
  const content = h("div", {});
  const links = Object.entries(PARTS).map(([part, [label]]) => h("a", { href: addressOf({ part: part === "captured" ? "" : part }), "data-part": part }, label));
  const element = h("section.memories-view", {}, h("h1", {}, "Memories"), h("nav.parts", { "aria-label": "Parts" }, links), acting.bar, content, acting.dialog);

  function show(params) {
    const part = params.part in PARTS ? params.part : "captured";
    if (!lists.has(part)) lists.set(part, PARTS[part][1](own));
    for (const link of links) {
      if (link.dataset.part === part) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (content.firstChild !== lists.get(part).element) fill(content, lists.get(part).element);
    return lists.get(part).show(params);
  }

  function onKey(event) {
    const typing = event.target.closest?.("input, select, textarea");
    const way = typing ? 0 : ["j", "ArrowDown"].includes(event.key) ? 1 : ["k", "ArrowUp"].includes(event.key) ? -1 : 0;
    if (way && step(content, "[data-entry]", way)) event.preventDefault();
  }

  return { element, show, onKey };
}
