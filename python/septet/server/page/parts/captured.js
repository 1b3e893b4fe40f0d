// Captured memories and turns of conversations, newest first, by day and session; their export.

import { fill, h, ownId } from "./dom.js";
import { dated } from "./facts.js";
import { whenNamed } from "./ages.js";
import { fault, sentence } from "./hits.js";
import { save } from "./profile_file.js";

const MEMORY = { kind: "memory" };
/** Turns have the role of their speaker; parts of transcripts that were read before roles were kept have none. */
const TURN = { $or: [{ "attrs.role": { $exists: true } }, { kind: "chunk", type: "session" }] };
const KINDS = { "": "memories and conversations", memory: "memories", turn: "conversations", user: "what users said", assistant: "what assistants said" };
const TRUSTS = { "": "any", trusted: "trusted", unverified: "unverified", untrusted: "untrusted" };
const PAGE = 25;
const TYPING_MS = 250;

/** Return the filter of what was captured, of the kind that is chosen. */
export function capturedOf(kind) {
  if (kind === "memory") return MEMORY;
  if (kind === "turn") return TURN;
  return kind ? { "attrs.role": kind } : { $or: [MEMORY, TURN] };
}

/** Return the session of a part of a transcript: the name of its file; empty for others. */
export function sessionOf({ span, type, attrs }) {
  if (!span || (type !== "session" && !attrs?.role)) return "";
  return span.path.split("/").at(-1).replace(/\.jsonl$/i, "");
}

/** Make the list. `addressOf(params)` leads within the view; `acting` changes entries. */
export function capturedList({ context, acting, addressOf, entryAddress, go }) {
  let shown = {};
  let asked = 0;
  const chosen = (name, title, options) => field(title, h("select", { id: ownId(name), name, on: { change: () => narrow(false) } },
    Object.entries(options).map(([value, text]) => h("option", { value }, text))));
  const typed = (name, title, properties) => field(title, h("input", {
    id: ownId(name), name, type: "search", autocomplete: "off", spellcheck: "false", maxlength: "200", on: { input: later }, ...properties,
  }));
  const form = h("form.ways", { role: "search", on: { submit: (event) => (event.preventDefault(), narrow(false)) } },
    typed("words", "Words", { "data-box": "", placeholder: "In title or text" }),
    typed("session", "Session", { placeholder: "Part of its id" }),
    chosen("kind", "Show", KINDS), chosen("trust", "Trust", TRUSTS));
  const summary = h("p.summary.soft", { role: "status" });
  const exporting = h("button", { type: "button", on: { click: download } }, "Export");
  const days = h("div.days", {});
  const pages = h("nav.pages", { "aria-label": "Pages" });
  const element = h("div.stack", {}, form, h("div.row.spread", {}, summary, exporting), days, pages);
  let waiting = 0;

  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(() => narrow(true), TYPING_MS);
  }

  function narrow(typing) {
    clearTimeout(waiting);
    go({ ...shown, ...Object.fromEntries([...form.elements].filter((one) => one.name).map((one) => [one.name, one.value.trim()])), after: "" }, typing);
  }

  async function show(params) {
    shown = params;
    asked += 1;
    const own = asked;
    for (const input of form.elements) {
      if (input.name && input !== document.activeElement) input.value = params[input.name] ?? "";
    }
    exporting.textContent = `Export ${KINDS[exportedOf(params)]}`;
    days.classList.add("busy");
    try {
      await context.ready;
      const where = whereOf(params);
      const [page, { count }] = await Promise.all([
        context.api.call("entries", { where, order_by: ["created_at", "desc"], limit: PAGE, ...(params.after ? { after: params.after } : {}) }),
        context.api.call("count", { where }),
      ]);
      if (own !== asked) return;
      present(page, count, params);
    } catch (error) {
      if (own !== asked) return;
      fill(days);
      fill(pages);
      fill(summary, fault(error));
    } finally {
      if (own === asked) days.classList.remove("busy");
    }
  }

  function present({ entries, next }, count, params) {
    const narrowed = ["words", "session", "kind", "trust"].some((name) => params[name]);
    fill(summary, count ? `${count.toLocaleString("en")} captured${params.after ? ", further on" : ""}` : narrowed ? "Nothing fits." : "Nothing was captured yet.");
    fill(days, groups(entries, (entry) => dated(entry.created_at).slice(0, 10)).map(([day, ofDay]) =>
      h("section.day", {}, h("h2", {}, dayNamed(day)), groups(ofDay, sessionOf).map(([session, own]) => group(session, own)))));
    if (!count) fill(days, h("div.empty", {}, narrowed ? h("a", { href: addressOf({}) }, "Show all") : "Agents capture by hooks and tools; people by septet remember."));
    fill(pages, params.after && h("a.button", { href: addressOf({ ...params, after: "" }) }, "← First page"),
      next && h("a.button", { href: addressOf({ ...params, after: next }), rel: "next" }, "More →"));
    context.announce(`${count} captured`);
  }

  function group(session, entries) {
    const head = session
      ? h("div.row.spread", {}, h("h3", {}, "Session ", h("span.mono", {}, session)), h("p.small", {},
          h("a", { href: addressOf({ session }) }, "all of it"), " · ", h("a", { href: addressOf({ part: "told", session }) }, "what it was told")))
      : h("h3", {}, entries.every(({ kind }) => kind === "memory") ? "Memories" : "Without a session");
    return h("section.card", {}, head, h("ol.captured", {}, entries.map(row)));
  }

  function row(entry) {
    const turn = Boolean(sessionOf(entry) || entry.attrs?.role);
    const text = turn ? entry.description || entry.title : entry.title || entry.description;
    const actions = context.status.writable && h("div.buttons", {},
      h("button", { type: "button", "aria-label": `Edit: ${text.slice(0, 60)}`, on: { click: () => change(entry, "edit") } }, "Edit"),
      h("button.danger", { type: "button", "aria-label": `Forget: ${text.slice(0, 60)}`, on: { click: () => change(entry, "forget") } }, "Forget"));
    return h("li", { "data-id": entry.id },
      h("div.what", {}, h("a.line", { href: entryAddress(entry.id), "data-entry": "" }, text),
        !turn && entry.title && entry.description && h("p.line.soft", {}, entry.description),
        h("p.row.chips", {}, h("span.small.soft.number", {}, `${dated(entry.created_at).slice(11)} UTC`),
          h("span.small.soft", {}, entry.source ? `by ${entry.source}` : "no source"),
          typeof entry.attrs?.role === "string" && h("span.chip.role", {}, entry.attrs.role),
          h(`span.chip.${entry.trust}`, {}, entry.trust),
          entry.valid_until !== undefined && entry.valid_until * 1000 <= Date.now() && h("span.chip.warning", {}, "superseded or expired"),
          (entry.tags ?? []).slice(0, 6).map((tag) => h("span.chip", {}, `#${tag}`)))),
      actions);
  }

  async function change(entry, what) {
    const again = () => show(shown);
    try {
      const tiers = await acting.holding(entry.id);
      const call = acting.inTier(tiers[0] || undefined);
      const whole = await call("get", { id: entry.id });
      if (what === "edit") await acting.edit(whole, call, again);
      else await acting.forget(whole, call, tiers.length - 1, { gone: again, back: again });
    } catch (error) {
      acting.tell(sentence(error), null);
    }
  }

  /** Save the entries of the chosen kind, and the links among them, as `septet export` writes them. */
  async function download() {
    const kind = exportedOf(shown);
    exporting.disabled = true;
    const [lines, ids] = [[], new Set()];
    try {
      for await (const { text, record } of context.api.exported()) {
        const own = record.record === "entry" ? isCaptured(record, kind) : record.record === "link" && ids.has(record.source) && ids.has(record.target);
        if (!own) continue;
        if (record.record === "entry") ids.add(record.id);
        lines.push(text, "\n");
      }
      save(`septet-${kind === "memory" ? "memories" : kind ? "conversations" : "captured"}.jsonl`, "application/x-ndjson", lines);
      acting.tell(`Exported ${ids.size.toLocaleString("en")} entries; septet import reads the file.`, null);
    } catch (error) {
      acting.tell(`Not exported. ${sentence(error)}`, null);
    } finally {
      exporting.disabled = false;
    }
  }

  return { element, show };
}

/** Return the kind that an export has: roles are not told apart. */
function exportedOf({ kind }) {
  return kind === "memory" || kind === "turn" ? kind : "";
}

function isCaptured({ kind, type, attrs }, wanted) {
  const [memory, turn] = [kind === "memory", attrs?.role !== undefined || (kind === "chunk" && type === "session")];
  return wanted === "memory" ? memory : wanted === "turn" ? turn : memory || turn;
}

function whereOf({ kind, trust, session, words }) {
  const parts = [capturedOf(kind)];
  if (trust) parts.push({ trust });
  if (session) parts.push({ path: { $contains: session } });
  if (words) parts.push({ $or: ["title", "description", "context"].map((name) => ({ [name]: { $contains: words } })) });
  return { $and: parts };
}

/** Return neighbours with the same key together: [key, items] in order. */
function groups(items, keyOf) {
  const all = [];
  for (const item of items) {
    const key = keyOf(item);
    if (all.at(-1)?.[0] === key) all.at(-1)[1].push(item);
    else all.push([key, [item]]);
  }
  return all;
}

function dayNamed(day) {
  return /^\d{4}-\d\d-\d\d$/.test(day) ? whenNamed(day) : day;
}

function field(title, input) {
  return h("div.field", {}, h("label", { for: input.id }, title), input);
}
