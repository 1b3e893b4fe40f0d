// The shell: tabs, the view that the address names, keys, theme, the token. What a view shows is its own matter.

import { makeApi } from "./api.js";
import { fill, h } from "./parts/dom.js";
import { sentence } from "./parts/hits.js";
import * as search from "./views/search.js";
import * as why from "./views/why.js";
import * as compare from "./views/compare.js";
import * as browse from "./views/browse.js";
import * as memories from "./views/memories.js";
import * as health from "./views/health.js";

// A view exports name, title, key and create(context) -> {element, show(params), hide?(), onKey?(event)}.
const VIEWS = [search, why, compare, browse, memories, health];

const THEMES = ["system", "light", "dark"];
const KEYS = [
  ["/", "to the search box"],
  ["1 to 9", "to a view"],
  ["j k, arrows", "to the next or previous hit"],
  ["Enter", "why is this hit here?"],
  ["Esc", "out of a box or dialog"],
  ["t", "another theme"],
  ["?", "this list"],
];

const at = (id) => document.getElementById(id);
const [main, tabs, announcer] = ["main", "tabs", "announcer"].map(at);
const made = new Map();
let current = null;
let leader = 0;

/** Tell people who do not see the page what happened. */
function announce(text) {
  announcer.textContent = "";
  requestAnimationFrame(() => (announcer.textContent = text));
}

/** Return the address of a view: #search?q=words; empty parameters are left out. */
function addressOf(view, params = {}) {
  const named = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(named.map(([name, value]) => [name, String(value)]));
  return `#${view}${named.length ? `?${query}` : ""}`;
}

/** Show a view; `replace` changes the address only, for a view that shows it already. */
function go(view, params = {}, { replace = false } = {}) {
  const address = addressOf(view, params);
  if (replace) {
    history.replaceState(null, "", address);
    entitle(view, params);
    remember(view, address);
  } else if (address === location.hash) route();
  else location.hash = address;
}

function route() {
  const [name, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const view = VIEWS.find((one) => one.name === name) ?? VIEWS[0];
  const params = Object.fromEntries(new URLSearchParams(query));
  const first = !made.has(view.name);
  if (first) made.set(view.name, view.create(context));
  const next = made.get(view.name);
  if (current?.view !== view) {
    current?.shown.hide?.();
    fill(main, next.element);
    current = { view, shown: next };
    window.scrollTo(0, 0);
  }
  for (const tab of tabs.children) {
    if (tab.dataset.view === view.name) {
      tab.setAttribute("aria-current", "page");
      tab.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    } else tab.removeAttribute("aria-current");
  }
  remember(view.name, location.hash || `#${view.name}`);
  entitle(view.name, params);
  next.show(params);
}

/** A tab leads back to where its view was left. */
function remember(name, address) {
  const tab = [...tabs.children].find((one) => one.dataset.view === name);
  if (tab) tab.href = address;
}

function entitle(name, params) {
  const { title } = VIEWS.find((one) => one.name === name);
  const what = params.id ?? params.q;
  document.title = `${what ? `${what} · ` : ""}${title} · Septet`;
}

function turnTo(view) {
  location.hash = tabs.querySelector(`[data-view="${view.name}"]`).getAttribute("href");
  announce(`${view.title}`);
}

function editing(target) {
  return target.closest("input:not([type=checkbox], [type=range], [type=radio]), textarea, select, [contenteditable]");
}

/** True if a box is empty, or all of it is selected. */
function allSelected(box) {
  return box.selectionStart === 0 && box.selectionEnd === box.value.length;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (editing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    // The key that leads to the box types nothing where it has led already.
    else if (event.key === "/" && event.target.matches("[data-box]") && allSelected(event.target)) event.preventDefault();
    else current.shown.onKey?.(event);
    return;
  }
  if (performance.now() - leader < 1500) {
    leader = 0;
    const view = VIEWS.find((one) => one.key === event.key);
    if (view) return done(event, () => turnTo(view));
  }
  const numbered = VIEWS[Number(event.key) - 1];
  if (event.key === "g") leader = performance.now();
  else if (numbered) done(event, () => turnTo(numbered));
  else if (event.key === "?") done(event, () => at("keys").showModal());
  else if (event.key === "t") done(event, nextTheme);
  else if (event.key === "/") done(event, toTheBox);
  else current.shown.onKey?.(event);
}

function done(event, work) {
  event.preventDefault();
  work();
}

/** Focus the box that a view marks with data-box. */
function toTheBox() {
  const box = main.querySelector("[data-box]");
  box?.focus();
  box?.select?.();
}

function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

function nextTheme() {
  const chosen = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    if (chosen === "system") localStorage.removeItem("septet-theme");
    else localStorage.setItem("septet-theme", chosen);
  } catch {
    // It lasts as long as the page, then.
  }
  showTheme();
  announce(`Theme: ${chosen}`);
}

function showTheme() {
  const sign = { system: "◐", light: "☀", dark: "☾" }[theme()];
  fill(at("theme"), h("span", { "aria-hidden": "true" }, sign));
  at("theme").setAttribute("aria-label", `Theme: ${theme()}. Change it.`);
  at("theme").title = `Theme: ${theme()}`;
}

// It sends no form: Enter takes the first button that does.
at("token-cancel").addEventListener("click", () => at("token").close());

/** Ask for a token; resolves to it, or to null. */
function askToken(reason) {
  const dialog = at("token");
  if (reason) at("token-reason").textContent = reason;
  at("token-value").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const closed = () => resolve(dialog.returnValue === "use" ? at("token-value").value.trim() : null);
    dialog.addEventListener("close", closed, { once: true });
  });
}

async function introduce() {
  try {
    Object.assign(status, await api.call("status"));
  } catch (error) {
    return fill(at("foot"), h("p.fault", {}, sentence(error)));
  }
  const tiers = Object.keys(status.tiers);
  fill(
    at("foot"),
    h("span", {}, `Septet ${status.version}`),
    h("span", {}, `${status.entries.toLocaleString("en")} entries`),
    tiers.length > 0 && h("span", {}, `tiers: ${tiers.join(", ")}`),
    h("span", {}, `profile: ${status.profile}`),
    h("span", {}, status.writable ? "writable" : "read only"),
  );
}

const status = {};
const api = makeApi(askToken);
// `ready` resolves when `status` is filled, as far as the server tells.
const context = { api, go, announce, addressOf, status, ready: introduce() };

fill(
  tabs,
  VIEWS.map((view, n) =>
    h(
      "a",
      { href: `#${view.name}`, "data-view": view.name, title: `${view.title} (${n + 1}, or g ${view.key})` },
      view.title,
    ),
  ),
);
const views = VIEWS.map((view) => [`g ${view.key}`, view.title]);
fill(at("keys-list"), [...KEYS, ...views].map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]));
at("theme").addEventListener("click", nextTheme);
at("help").addEventListener("click", () => at("keys").showModal());
at("skip").addEventListener("click", (event) => done(event, () => main.focus()));
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", route);
showTheme();
route();
