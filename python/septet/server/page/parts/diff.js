// The changes of an entry, as elements: removed and added words, and other values before and after.

import { h } from "./dom.js";

const MOST_WORDS = 600;
/** With less in common than this, two texts are shown one after the other. */
const LEAST_SHARE = 0.4;

/** Return a text with the words that went as <del> and those that came as <ins>. */
export function wordDiff(before, after) {
  const [old, now] = [before, after].map((text) => text.match(/\s+|[^\s]+/g) ?? []);
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return wholly(before, after);
  // Lengths of the longest common sequences of what is left.
  const rest = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      rest[i][j] = old[i] === now[j] ? rest[i + 1][j + 1] + 1 : Math.max(rest[i + 1][j], rest[i][j + 1]);
    }
  }
  const runs = [];
  const put = (kind, word) => {
    if (runs.at(-1)?.kind === kind) runs.at(-1).text += word;
    else runs.push({ kind, text: word });
  };
  for (let i = 0, j = 0; i < old.length || j < now.length;) {
    if (i < old.length && j < now.length && old[i] === now[j]) put("same", old[i]), (i += 1), (j += 1);
    else if (j >= now.length || (i < old.length && rest[i + 1][j] >= rest[i][j + 1])) put("went", old[i]), (i += 1);
    else put("came", now[j]), (j += 1);
  }
  const kept = runs.filter(({ kind }) => kind === "same").reduce((all, { text }) => all + text.trim().length, 0);
  if (2 * kept < LEAST_SHARE * (before.length + after.length)) return wholly(before, after);
  return runs.map(({ kind, text }) => (kind === "same" ? text : h(kind === "went" ? "del" : "ins", {}, text)));
}

/** Return the fields of an entry that a change made different, each as a row of a description list. */
export function changeList(before, after, fields) {
  return h("dl.changes", {}, fields.map((field) => {
    const [was, is] = [before, after].map((entry) => plain(entry[field]));
    return [h("dt", {}, field), h("dd", {}, typeof before[field] === "string" && typeof after[field] === "string" ? wordDiff(was, is) : wholly(was, is))];
  }));
}

function wholly(before, after) {
  return [before && h("del", {}, before), before && after && " → ", after && h("ins", {}, after), !before && !after && "–"];
}

function plain(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
