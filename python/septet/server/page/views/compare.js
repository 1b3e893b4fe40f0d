// Compare: a query under two profiles side by side; weights on sliders, and the profile that comes out as a file.

import { fill, h, ownId } from "../parts/dom.js";
import { fillProfiles, searchForm } from "../parts/form.js";
import { fault, noteList } from "../parts/hits.js";
import { difference, movedLists } from "../parts/moves.js";
import { profileOf, save, tomlOf } from "../parts/profile_file.js";
import { FieldError, requestOf, searchParams } from "../parts/request.js";
import { baseOf, reranked } from "../parts/rerank.js";
import { weightSliders } from "../parts/sliders.js";

export const name = "compare";
export const title = "Compare";
export const key = "c";

const TYPING_MS = 250;
const SETTLED_MS = 350;
// More is fetched than is shown, so that what comes up from below is at hand.
const FETCHED = 50;
const SHOWN = 15;

/** Make the view. */
export function create(context) {
  const form = searchForm({ context, changed, entered, without: ["profile", "mode", "limit"], action: "Compare" });
  const [left, right] = ["a", "b"].map((side) => h("select", { id: ownId(side), name: side, on: { change: () => changed(null, false) } }));
  const lists = movedLists(["Left", "Right"]);
  const told = h("p.told", { role: "status" });
  const state = h("p.state.small", { role: "status" });
  const notes = h("div");
  const sliders = weightSliders(weighed);
  const exporting = ["TOML", "JSON"].map((kind) => h("button", { type: "button", "data-export": kind, on: { click: () => exported(kind) } }, `Export ${kind}`));
  const reset = h("button.quiet", { type: "button", on: { click: () => weighed(null) } }, "Reset");
  const panel = h("section.card.weights", { "aria-label": "Weights of the right" },
    h("div.row", {}, h("h2", {}, "Weights of the right"), reset, h("span.grow"), exporting), sliders.element, state);
  const sides = h("div.sides", {}, side("Left profile", left), h("span", { "aria-hidden": "true" }, "→"), side("Right profile", right));
  const shownLists = h("div.stack", {}, panel, notes, told, lists.element);
  const start = h("p.empty", {}, "Type a query to see what two profiles make of it, and what other weights would.");
  const body = h("div.stack.compared", {}, start);
  const element = h("section.compare-view", { "aria-labelledby": "compare-title" }, h("h1.unseen", { id: "compare-title" }, title), form.element, sides, body);
  // The view: the answer of each side, and for the right one the signals for other weights.
  let one = null;
  let other = null;
  let running = null;
  let checking = null;
  let waiting = 0;
  context.ready.then(() => profiles(left.dataset.wanted, right.dataset.wanted));

  function profiles(a, b) {
    const { profile, profiles: names = [] } = context.status;
    fillProfiles(left, profile, names, a ?? "");
    fillProfiles(right, profile, names, b ?? "");
  }

  /** Without a choice the right is another built-in profile than the left. */
  const unlike = (a) => (context.status.profiles ?? []).find((each) => each !== (a || context.status.profile)) ?? "";

  async function show(params) {
    form.write(params);
    await context.ready;
    profiles(params.a, params.b ?? unlike(params.a));
    const given = read();
    const same = one && JSON.stringify(given) === one.asked;
    if (!same) ask(given, weightsOf(params.w));
  }

  const read = () => ({ ...searchParams(form.read()), a: left.value, b: right.value });

  function changed(_, typing) {
    clearTimeout(waiting);
    const params = read();
    context.go(name, params, { replace: true });
    waiting = setTimeout(() => ask(params), typing ? TYPING_MS : 0);
  }

  function entered() {
    clearTimeout(waiting);
    ask(read());
  }

  function request(params, profile) {
    return { ...requestOf({ ...params, profile: "", mode: "", limit: "" }), ...(profile && { profile }), limit: FETCHED, passages: 1 };
  }

  async function ask(params, weights = null) {
    running?.abort();
    checking?.abort();
    form.blame();
    one = null;
    if (!params.q?.trim()) return fill(body, start);
    const { signal } = (running = new AbortController());
    body.classList.add("busy");
    try {
      const call = (operation, what) => context.api.call(operation, what, { signal });
      const [first, second] = await Promise.all([params.a, params.b].map((profile) => call("search", request(params, profile))));
      const vectors = second.hits.some(({ raw }) => raw.cosine !== null && raw.cosine !== undefined);
      const own = await call("weights", { ...(params.b && { profile: params.b }), vectors });
      one = { asked: JSON.stringify(params), answer: first };
      other = { params, own, answer: second, base: baseOf(second, own.values), weights: { ...own.values } };
      const known = context.status.profiles?.includes(params.b || context.status.profile) ?? false;
      sliders.show(own.values, { disabled: !known });
      fill(body, shownLists);
      for (const button of [...exporting, reset]) button.disabled = !known;
      present(untouched());
      if (weights && known) weighed({ ...own.values, ...weights });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof FieldError) form.blame(error);
      else fill(body, fault(error));
    } finally {
      if (!signal.aborted) body.classList.remove("busy");
    }
  }

  /** Say whether weighing the signals here gives what the server gave. */
  function untouched() {
    if (!context.status.profiles?.includes(other.params.b || context.status.profile)) return "Choose a built-in profile to move its weights.";
    const { hits } = reranked(other.base, other.weights);
    return agrees(hits, other.base.hits)
      ? "The weights of the profile: weighing the signals here gives exactly the server's order."
      : "The server's order. It cannot be had from the signals alone: what it does beside weighing counts, too.";
  }

  function present(text, settled = true) {
    const { hits, weights } = settled ? { hits: other.base.hits, weights: other.base.counted } : reranked(other.base, other.weights);
    const [first, second] = [one.answer.hits.slice(0, SHOWN), hits.slice(0, SHOWN)];
    lists.draw({ hits: first, weights: one.answer.weights }, { hits: second, weights },
      (id) => context.addressOf("why", { ...searchParams(other.params), profile: other.params.b, id }));
    told.textContent = difference(first, second);
    fill(notes, noteList([...one.answer.notes, ...other.answer.notes].filter((note, n, all) => all.findIndex(({ code }) => code === note.code) === n)));
    state.textContent = text;
    state.dataset.settled = String(settled);
  }

  /** Weights of the sliders, or null for those of the profile. */
  function weighed(weights) {
    other.weights = { ...(weights ?? other.own.values) };
    sliders.show(other.weights);
    const moved = Object.entries(other.weights).filter(([each, value]) => value !== other.own.values[each]);
    context.go(name, { ...other.params, w: moved.map(([each, value]) => `${each}:${value}`).join(",") }, { replace: true });
    checking?.abort();
    clearTimeout(waiting);
    const nothing = Object.values(other.weights).every((value) => value === 0);
    for (const button of exporting) button.disabled = nothing;
    if (nothing) return present("With all weights 0 there is no order.", false);
    present("Ranked here, from the signals at hand. The server is asked when the sliders rest.", false);
    waiting = setTimeout(check, SETTLED_MS);
  }

  async function check() {
    const { params, own, weights } = other;
    const mine = (checking = new AbortController());
    try {
      const profile = moved() ? profileOf(parent(), own.row, weights, { still: true }) : params.b;
      const answer = await context.api.call("search", request(params, profile), { signal: mine.signal });
      if (mine !== checking) return;
      const here = reranked(other.base, weights).hits.slice(0, SHOWN);
      const there = answer.hits.slice(0, SHOWN);
      Object.assign(other, { answer, base: baseOf(answer, weights) });
      const apart = there.filter(({ id }, n) => here[n]?.id !== id).length;
      const differs = `The server's order, which differs in ${apart} of ${there.length} places from the signals weighed here.`;
      present(apart === 0 ? "The server ranks the same with these weights." : differs);
    } catch (error) {
      if (error.name !== "AbortError") state.textContent = `Not checked by the server: ${error.message}`;
    }
  }

  const parent = () => other.params.b || context.status.profile;
  const moved = () => Object.entries(other.weights).some(([each, value]) => value !== other.own.values[each]);

  function exported(kind) {
    // Weights that feedback has moved would be moved again.
    const learned = other.own.counted > 0 && !other.own.cause.startsWith("as documented");
    const profile = profileOf(parent(), other.own.row, other.weights, { still: learned });
    const file = `${parent()}-changed.${kind.toLowerCase()}`;
    if (kind === "TOML") save(file, "application/toml", tomlOf(profile));
    else save(file, "application/json", `${JSON.stringify(profile, null, 2)}\n`);
    context.announce(`Saved ${file}`);
  }

  return { element, show, hide: () => [running, checking].forEach((one) => one?.abort()) };
}

function side(label, select) {
  return h("div.field", {}, h("label", { for: select.id }, label), select);
}

function agrees(one, other) {
  return one.every((hit, n) => hit.id === other[n].id && hit.score === other[n].score);
}

/** Read weights as the address has them: semantic:0.5,vector:0.1. */
function weightsOf(text) {
  const pairs = (text ?? "").split(",").map((part) => part.split(":")).filter(([each, value]) => each && Number(value) >= 0);
  return pairs.length ? Object.fromEntries(pairs.map(([each, value]) => [each, Number(value)])) : null;
}
