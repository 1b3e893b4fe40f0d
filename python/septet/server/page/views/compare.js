// Compare.

import { h } from "../parts/dom.js";

export const name = "compare";
export const title = "Compare";
export const key = "c";

/** Make the view. */
export function create() {
  return { element: h("section.empty", {}, h("h1", {}, title)), show() {} };
}
