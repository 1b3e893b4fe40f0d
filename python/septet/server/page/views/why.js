// Why / why not.

import { h } from "../parts/dom.js";

export const name = "why";
export const title = "Why / why not";
export const key = "w";

/** Make the view. */
export function create() {
  return { element: h("section.empty", {}, h("h1", {}, title)), show() {} };
}
