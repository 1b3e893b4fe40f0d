// The form of a search: the box, how to search, and filters; the same in every view that searches.

import { fill, h, ownId } from "./dom.js";
import { FILTERS } from "./request.js";

const CHOICES = {
  leg: [["", "hybrid"], ["text", "words only"], ["vector", "vectors only"]],
  mode: [["", "full"], ["scan", "scan"]],
  limit: [["", "default"], ["10", "10"], ["20", "20"], ["50", "50"], ["100", "100"]],
  severity: [["", "any"], ["critical", "critical"], ["warning", "warning"], ["suggestion", "suggestion"]],
};

/**
 * Make the form.
 *
 * `changed(params, typing)` is called with every change, `entered()` when Enter is pressed in the box. `own` are fields
 * of the view, put beside the box; `without` leaves out fields.
 */
export function searchForm({ context, changed, entered, own = [], without = [], label = "Search for", action = "Search" }) {
  const inputs = {};
  const box = h("input.box", {
    id: ownId("box"), name: "q", type: "search", "data-box": "", autocomplete: "off", spellcheck: "false",
    placeholder: "A question, or a few words",
  });
  inputs.q = box;
  const chosen = (name, title, options) => {
    inputs[name] = h("select", { id: ownId(name), name }, options.map(([value, text]) => h("option", { value }, text)));
    return field(title, inputs[name]);
  };
  const typed = (name, title, properties = {}) => {
    inputs[name] = h("input", { id: ownId(name), name, autocomplete: "off", spellcheck: "false", ...properties });
    return field(title, inputs[name]);
  };
  const ticked = (name, title) => {
    inputs[name] = h("input", { id: ownId(name), name, type: "checkbox" });
    return h("label.check", {}, inputs[name], title);
  };
  const ways = [
    ["leg", () => chosen("leg", "Mode", CHOICES.leg)],
    ["mode", () => chosen("mode", "Detail", CHOICES.mode)],
    ["profile", () => chosen("profile", "Profile", [["", "default"]])],
    ["limit", () => chosen("limit", "Limit", CHOICES.limit)],
  ].filter(([name]) => !without.includes(name)).map(([, make]) => make());
  const many = h("span.chip", { hidden: true });
  const problem = h("p.fault.small", { id: ownId("problem"), hidden: true });
  const filters = h(
    "details.filters", {},
    h("summary", {}, "Filters ", many),
    h("div.fields", {},
      typed("kind", "Kind", { list: "kinds" }), typed("domain", "Domain", { list: "domains" }), typed("type", "Type"),
      chosen("severity", "Severity", CHOICES.severity),
      typed("boost_tags", "Rank higher with tags", { placeholder: "http, retry" }),
      typed("min_score", "Minimum score", { inputmode: "decimal" }),
      h("div.wide", {}, typed("where", "Where (JSON)", { class: "mono", placeholder: '{"tags": {"$in": ["http"]}}' })),
      ticked("memories", "memories too"), ticked("expired", "expired too"),
    ),
    problem,
  );
  const kinds = h("datalist", { id: "kinds" });
  const form = h(
    "form.search", { role: "search", on: { submit: (event) => { event.preventDefault(); entered(); } } },
    h("div.asked", {}, h("div.field.grow", {}, h("label.unseen", { for: box.id }, label), box), own, h("button.main", {}, action)),
    h("div.ways", {}, ways), filters, kinds,
  );
  form.addEventListener("input", (event) => changed(read(), event.target === box));
  context.ready.then(() => {
    const { profile, profiles = [], kinds: counted = {}, spaces } = context.status;
    // Without a vector nothing is hybrid, whatever is asked for.
    if (spaces?.length === 0 && inputs.leg) inputs.leg.options[0].textContent = "words (no vectors)";
    const held = inputs.profile?.value;
    if (inputs.profile) fillProfiles(inputs.profile, profile, profiles, inputs.profile.dataset.wanted ?? held);
    fill(kinds, Object.keys(counted).map((value) => h("option", { value })));
  });

  /** Return the parameters that the form stands for. */
  function read() {
    const given = Object.entries(inputs).map(([name, input]) =>
      [name, input.type === "checkbox" ? (input.checked ? "1" : "") : name === "q" ? input.value : input.value.trim()]);
    const params = Object.fromEntries(given.filter(([, value]) => value));
    count(params);
    return params;
  }

  /** Show parameters in the form; what has the focus is left alone if it says the same. */
  function write(params) {
    for (const [name, input] of Object.entries(inputs)) {
      const value = params[name] ?? "";
      if (input.type === "checkbox") input.checked = value !== "";
      else if (input.tagName === "SELECT") choose(input, value);
      else if (input.value !== value) input.value = value;
    }
    count(params);
  }

  /** Mark the field that cannot be read, or none. */
  function blame(error = null) {
    for (const [name, input] of Object.entries(inputs)) {
      if (error?.field === name) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
    problem.hidden = error === null;
    problem.textContent = error?.message ?? "";
    if (error) filters.open = true;
  }

  function count(params) {
    const active = FILTERS.filter((name) => params[name]).length;
    many.hidden = active === 0;
    many.textContent = `${active} on`;
  }

  return { element: form, box, read, write, blame };
}

/** Put the profiles that there are into a select. */
export function fillProfiles(select, own, names, chosen) {
  fill(select, h("option", { value: "" }, own ? `default (${own})` : "default"), names.map((name) => h("option", { value: name }, name)));
  choose(select, chosen ?? "");
}

function choose(select, value) {
  // A profile may be wanted before the names are known; another number than those listed may be asked for.
  select.dataset.wanted = value;
  if (![...select.options].some((option) => option.value === value)) select.append(h("option", { value }, value));
  select.value = value;
}

function field(title, input) {
  return h("div.field", {}, h("label", { for: input.id }, title), input);
}
