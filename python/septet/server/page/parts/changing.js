// Changing entries: a form, forgetting, and undoing both. What cannot be restored is said before, not after.

import { fill, h, ownId } from "./dom.js";
import { fault } from "./hits.js";

const FIELDS = [["title", "Title"], ["description", "Description"], ["context", "Context"], ["kind", "Kind"], ["type", "Type"],
  ["domain", "Domain"], ["severity", "Severity"], ["tags", "Tags, separated by commas"], ["attrs", "Attrs (JSON)"]];
const LONG = ["description", "context", "attrs"];
const SEVERITIES = ["critical", "warning", "suggestion"];
/** The fields of an entry that `add` takes; span and times among them. */
const RESTORED = ["id", "title", "description", "context", "kind", "type", "domain", "severity", "trust", "tags", "attrs",
  "created_at", "updated_at", "valid_from", "valid_until", "parent", "source", "span"];

/** Make the bar that offers to undo the last change. */
export function undoBar(context) {
  const said = h("span", {});
  const button = h("button", { type: "button" }, "Undo");
  const element = h("div.undo", { hidden: true, role: "group", "aria-label": "Last change" }, said, button,
    h("button.quiet", { type: "button", "aria-label": "Dismiss", on: { click: () => (element.hidden = true) } }, "✕"));
  let undo = null;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      tell(await undo(), null);
    } catch (error) {
      fill(said, fault(error));
    } finally {
      button.disabled = false;
    }
  });

  /** Say what was done; `undoing` undoes it and resolves to what to say then. */
  function tell(text, undoing) {
    undo = undoing;
    button.hidden = undoing === null;
    element.hidden = false;
    fill(said, text);
    context.announce(text);
  }

  return { element, tell };
}

/** Ask for changes of an entry; resolves to {before, after} of the changed fields, or to null. */
export function askChanges(dialog, entry, save) {
  const inputs = {};
  const problem = h("div", {});
  const rows = FIELDS.map(([name, label]) => {
    const id = ownId(`edit-${name}`);
    const input = name === "severity"
      ? h("select", { id, name }, SEVERITIES.map((value) => h("option", { value }, value)))
      : h(LONG.includes(name) ? "textarea" : "input", { id, name, rows: LONG.includes(name) ? 4 : null, spellcheck: "false", autocomplete: "off" });
    input.value = shownField(entry, name);
    if (name === "attrs") input.classList.add("mono");
    inputs[name] = input;
    return h(`div.field${LONG.includes(name) || name === "title" || name === "tags" ? ".wide" : ""}`, {}, h("label", { for: id }, label), input);
  });
  const save_button = h("button.main", {}, "Save");
  return asked(dialog, (close) => h("form", { on: { submit: async (event) => {
    event.preventDefault();
    save_button.disabled = true;
    try {
      const change = changesOf(entry, inputs);
      close(Object.keys(change.after).length ? await save(change) : null);
    } catch (error) {
      fill(problem, fault(error));
    } finally {
      save_button.disabled = false;
    }
  } } },
  h("h2", { id: "edit-title" }, "Edit"), h("p.mono.soft.small", {}, entry.id), fromFile(entry), h("div.edit-fields", {}, rows), problem,
  h("div.buttons", {}, h("button.quiet", { type: "button", on: { click: () => close(null) } }, "Cancel"), save_button)), "edit-title");
}

/** Ask whether an entry is to go; says what undoing brings back, and what it cannot. */
export function askForget(dialog, { entry, links, versions, copies }) {
  const lost = [versions > 0 && counted(versions, "earlier version"), "a vector that a program stored with it"].filter(Boolean);
  return asked(dialog, (close) => h("form", { on: { submit: (event) => (event.preventDefault(), close(true)) } },
    h("h2", { id: "forget-title" }, "Forget this entry?"),
    h("p", {}, h("strong", {}, entry.title || entry.id)),
    h("p", {}, `Undo stores it again as it is, with its tags, attrs and times, and ${counted(links, "link")}. `,
      `It cannot bring back ${lost.join(" and ")}.`),
    fromFile(entry),
    copies > 0 && h("p.note", {}, `${counted(copies, "other tier")} with the same id ${copies === 1 ? "keeps its" : "keep their"} copy, which searches will find then.`),
    h("div.buttons", {}, h("button.quiet", { type: "button", on: { click: () => close(null) } }, "Cancel"), h("button.danger", {}, "Forget"))), "forget-title");
}

/** A sync may undo what is done to a part of a file. */
function fromFile({ span }) {
  return span && h("p.note", {}, `It is a part of the file ${span.path}: when that changes, a sync takes its text from there again.`);
}

/** Store an entry again as it was, with its links; resolves to what to say. */
export async function restore(call, entry, links) {
  const fields = Object.fromEntries(RESTORED.filter((name) => entry[name] !== undefined).map((name) => [name, entry[name]]));
  // A change of a split text rebuilds its parts.
  if (entry.parent === entry.id) fields.split = "auto", delete fields.parent;
  const { missing } = await call("load", { ids: [entry.id] });
  if (!missing.length) throw new Error("Another entry has this id now: nothing was undone.");
  await call("add", fields);
  let lost = 0;
  for (const { source, target, type, note } of links) {
    try {
      await call("link", { source, target, type, note });
    } catch {
      // Its other end was deleted meanwhile.
      lost += 1;
    }
  }
  return `Restored, with ${counted(links.length - lost, "link")}${lost ? `; ${lost} lead nowhere now` : ""}. Its earlier versions are gone.`;
}

/** Return a number with its noun. */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function asked(dialog, make, title) {
  return new Promise((resolve) => {
    const close = (answer) => {
      resolve(answer);
      dialog.close();
    };
    fill(dialog, make(close));
    dialog.setAttribute("aria-labelledby", title);
    dialog.addEventListener("close", () => resolve(null), { once: true });
    dialog.showModal();
  });
}

function shownField(entry, name) {
  if (name === "tags") return entry.tags.join(", ");
  if (name === "attrs") return JSON.stringify(entry.attrs ?? {}, null, 1);
  return entry[name] ?? "";
}

/** Return the fields that differ, as they were and as they shall be. */
function changesOf(entry, inputs) {
  const [before, after] = [{}, {}];
  for (const [name] of FIELDS) {
    const text = inputs[name].value;
    if (text === shownField(entry, name)) continue;
    before[name] = name === "attrs" ? (entry.attrs ?? {}) : entry[name];
    after[name] = name === "tags" ? text.split(",").map((tag) => tag.trim()).filter(Boolean) : name === "attrs" ? attrsOf(text) : text;
  }
  return { before, after };
}

function attrsOf(text) {
  let read;
  try {
    read = JSON.parse(text || "{}");
  } catch (error) {
    throw new Error(`The attrs are no JSON yet: ${error.message}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error("The attrs are an object.");
  return read;
}
