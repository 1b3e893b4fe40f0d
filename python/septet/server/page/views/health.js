// Health: what fills, what is behind, what it weighs, what feedback taught, and what was slow. It looks again by itself.

import { fill, h, ownId } from "../parts/dom.js";
import { dated } from "../parts/facts.js";
import { fault } from "../parts/hits.js";
import { learnedPlot } from "../parts/plot.js";
import { called } from "../parts/signals.js";
import { tierCard } from "../parts/tier_health.js";

export const name = "health";
export const title = "Health";
export const key = "h";

const EVERY_MS = 5000;
/** Folders are compared with the disk, which may be large: at every n-th look only. */
const FOLDERS_EACH = 6;
const SLOW_SHOWN = 20;

/** Make the view. */
export function create(context) {
  const tierSelect = h("select", { id: ownId("learned-tier") }, h("option", { value: "" }, "all tiers"));
  const tierField = h("div.field", { hidden: true }, h("label", { for: tierSelect.id }, "Feedback of"), tierSelect);
  const told = h("p.small.soft.number", {});
  const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
  const problem = h("div", {});
  const [tiers, learned, slow] = [h("div.stack", {}), h("div.stack", {}), h("div", {})];
  const element = h("section.health-view", {},
    h("header.row", {}, h("h1", {}, "Health"), told, pause), problem, tiers,
    h("section.card.stack", {}, h("div.row.between", {}, h("h2", {}, "Learned weights"), tierField), learned),
    h("section.card.stack", {}, h("h2", {}, "Slow searches"), slow));
  const before = new Map();
  let [timer, looks, visible, paused, folders, own] = [0, 0, false, false, new Map(), 0];

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    context.announce(paused ? "Paused" : "Looking again every 5 seconds");
    if (!paused) look();
    else clearTimeout(timer);
  });
  tierSelect.addEventListener("change", look);
  document.addEventListener("visibilitychange", () => visible && !document.hidden && !paused && look());

  function show() {
    visible = true;
    looks = 0;
    if (!paused || !before.size) look();
  }

  function hide() {
    visible = false;
    clearTimeout(timer);
  }

  async function look() {
    clearTimeout(timer);
    const mine = (own += 1);
    try {
      const [health, lesson, slowest] = await Promise.all([
        context.api.call("health", { folders: looks % FOLDERS_EACH === 0 }),
        context.api.call("learned", tierSelect.value ? { tier: tierSelect.value } : {}),
        context.api.call("slow_searches"),
      ]);
      if (mine !== own) return;
      looks += 1;
      present(health, lesson, slowest);
    } catch (error) {
      if (mine !== own) return;
      changed(problem, [error.code, error.message], () => fault(error));
    }
    if (visible && !paused && !document.hidden) timer = setTimeout(look, EVERY_MS);
  }

  function present(health, lesson, slowest) {
    changed(problem, null, () => null);
    for (const tier of health.tiers) {
      if (tier.folders) folders.set(tier.name, tier.folders);
      else if (folders.has(tier.name)) tier.folders = folders.get(tier.name);
    }
    const alone = health.tiers.length === 1 && !Object.keys(context.status.tiers ?? {}).length;
    tierField.hidden = health.tiers.length < 2;
    if (tierSelect.options.length !== health.tiers.length + 1 && !alone) {
      fill(tierSelect, h("option", { value: "" }, "all tiers"), health.tiers.map((tier) => h("option", { value: tier.name }, tier.name)));
    }
    changed(tiers, health.tiers, () => health.tiers.map((tier) => tierCard(tier, { alone })));
    changed(learned, lesson, () => learnedPlot(lesson));
    changed(slow, slowest.searches, () => slowList(slowest));
    told.textContent = `as of ${dated(health.at).slice(11)}:${String(Math.floor(health.at % 60)).padStart(2, "0")} UTC`;
  }

  /** Fill a part again only if its contents changed: nothing flickers, and open and focused elements stay. */
  function changed(part, value, make) {
    const text = JSON.stringify(value);
    if (before.get(part) === text) return;
    before.set(part, text);
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    fill(part, make());
    [...part.querySelectorAll("details")].forEach((one, n) => (one.open = open[n] ?? false));
  }

  return { element, show, hide };
}

function slowList({ searches, watching, queries_kept: kept, seen }) {
  if (!watching) return h("p.soft", {}, "This server does not keep them.");
  if (!searches.length) return h("p.soft", {}, "No search yet.");
  const most = searches[0].took_ms;
  const head = (text, number) => h(number ? "th.number" : "th", { scope: "col" }, text);
  return [
    h("p.small.soft", {}, `The slowest of the last day; ${seen.toLocaleString("en")} searches so far.`, !kept && " Their words are kept only with --log-queries."),
    h("div.scroll", {}, h("table.slow", {},
      h("thead", {}, h("tr", {}, head("ms", true), head("Stages"), head("Query"), head("Hits", true), head("At", true))),
      h("tbody", {}, searches.slice(0, SLOW_SHOWN).map((one) => h("tr", {},
        h("td.number", {}, one.took_ms.toFixed(1)), h("td", {}, stages(one, most)),
        h("td", {}, one.query !== undefined ? one.query : h("span.soft", {}, `${one.query_chars} characters`), " ",
          h("span.chip", {}, one.method), one.queries > 1 && h("span.chip", {}, `${one.queries} queries`), one.error && h("span.chip.critical", {}, one.error)),
        h("td.number", {}, one.hits), h("td.number.soft", {}, dated(one.at).slice(5))))))),
  ];
}

function stages({ stages: every, took_ms: took }, most) {
  const parts = Object.entries(every).filter(([, ms]) => ms > 0).sort(([, a], [, b]) => b - a);
  const text = parts.slice(0, 2).map(([stage, ms]) => `${called(stage)} ${ms.toFixed(1)}`).join(", ");
  return h("div.stages", { title: parts.map(([stage, ms]) => `${called(stage)}: ${ms.toFixed(2)} ms`).join("\n") },
    h("span.gauge", { "aria-hidden": "true", vars: { "--share": most > 0 ? took / most : 0 } }, parts.map(([, ms], n) => h("span", { vars: { "--share": took > 0 ? ms / took : 0, "--n": n } }))),
    h("span.small.soft", {}, text));
}
