// Sessions of agents, each with the entries of the served vault that hooks printed to it.

import { fill, h } from "./dom.js";
import { dated } from "./facts.js";
import { counted } from "./changing.js";
import { fault } from "./hits.js";

const PAGE = 10;
const STATES = { changed: "changed since", expired: "superseded or expired", gone: "forgotten" };

/** Make the list of sessions. */
export function printedList({ context, addressOf, entryAddress }) {
  let asked = 0;
  const list = h("div.stack", {});
  const note = h("p.small.soft", {});
  const pages = h("nav.pages", { "aria-label": "Pages" });
  const element = h("div.stack", {}, note, list, pages);

  async function show(params) {
    asked += 1;
    const own = asked;
    list.classList.add("busy");
    try {
      const { session, after } = params;
      const answer = await context.api.call("sessions", { limit: PAGE, ...(session ? { session } : {}), ...(after ? { after } : {}) });
      if (own === asked) present(answer, params);
    } catch (error) {
      if (own !== asked) return;
      for (const part of [note, pages]) fill(part);
      fill(list, fault(error));
    } finally {
      if (own === asked) list.classList.remove("busy");
    }
  }

  function present({ recorded, kept_days: days, sessions, next }, params) {
    fill(note, recorded
      ? `Hooks of this machine's user printed these entries to sessions of agents. A session is forgotten ${days} days after it was last told something. `
      : "No vault in a file is served: hooks tell sessions of such vaults alone.",
    params.session && h("a", { href: addressOf({ part: "told" }) }, "All sessions"));
    fill(list, sessions.map(section), recorded && !sessions.length && h("div.empty", {},
      params.session ? "This session was told nothing from here, or it was forgotten." : next ? "None among the last ones." : params.after ? "No more sessions." : "No session was told anything from here yet."));
    fill(pages, params.after && h("a.button", { href: addressOf({ ...params, after: "" }) }, "← First page"),
      next && h("a.button", { href: addressOf({ ...params, after: next }), rel: "next" }, "More →"));
    context.announce(counted(sessions.length, "session"));
  }

  function section({ session, calls, compacted, left_out: left }) {
    const events = [
      ...calls.map((call) => [call.at, () => callItem(call)]),
      ...compacted.map((at) => [at, () => h("li.soft.small", {}, `${dated(at)} UTC: its context was compacted`)]),
    ].sort(([a], [b]) => a - b);
    const programs = [...new Set(calls.map(({ program }) => program))];
    return h("section.card", {},
      h("div.row.spread", {}, h("h2", {}, "Session ", h("span.mono", {}, session)),
        h("p.small", {}, h("a", { href: addressOf({ session }) }, "what was captured in it"))),
      h("p.row.small.soft", {}, programs.map((program) => h("span.chip", {}, program)),
        `${entryCount(calls.reduce((sum, { entries }) => sum + entries.length, left))} told, last ${dated(calls.at(-1).at)} UTC`),
      left > 0 && h("p.small.soft", {}, `The ${left.toLocaleString("en")} earliest are left out.`),
      h("ol.calls", {}, events.map(([, make]) => make())));
  }

  function callItem({ at, program, entries }) {
    return h("li", {}, h("p.small.soft.number", {}, `${dated(at)} UTC`, h("span.unseen", {}, ` by ${program}`)),
      h("ul", {}, entries.map((entry) => h("li", {},
        entry.state === "gone" ? h("span.mono.soft", {}, entry.id) : h("a", { href: entryAddress(entry.id), "data-entry": "" }, entry.text || entry.id),
        " ", entry.state in STATES && h(`span.chip${entry.state === "gone" ? ".critical" : ".warning"}`, {}, STATES[entry.state])))));
  }

  return { element, show };
}

function entryCount(number) {
  return `${number.toLocaleString("en")} ${number === 1 ? "entry" : "entries"}`;
}
