// Search.

import { h } from "../parts/dom.js";

export const name = "search";
export const title = "Search";
export const key = "s";

/** Make the view. */
export function create() {
  return { element: h("section.empty", {}, h("h1", {}, title)), show() {} };
}
