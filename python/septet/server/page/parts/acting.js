// Editing and forgetting an entry in any view, with a bar that undoes the last of both.

import { h } from "./dom.js";
import { askChanges, askForget, restore, undoBar } from "./changing.js";
import { sentence } from "./hits.js";

/** Make what changes entries: {bar, dialog} are elements for the view, the rest are its functions. */
export function makeActing(context) {
  const undo = undoBar(context);
  const dialog = h("dialog.changing", {});

  /** Return what calls operations in a tier, or in the memory as a whole. */
  const inTier = (tier) => (operation, request) => context.api.call(operation, tier ? { ...request, tier } : request);

  /** Return the tiers that have an entry, the highest first; of one vault an empty name. */
  async function holding(id, only) {
    const known = context.status.tiers ?? {};
    const tiers = Object.keys(known).sort((a, b) => known[b] - known[a]);
    const all = only ? [only, ...tiers.filter((tier) => tier !== only)] : tiers.length ? tiers : [""];
    const has = (tier) => inTier(tier)("load", { ids: [id] }).then(({ missing }) => !missing.length, () => false);
    const holds = await Promise.all(all.map(has));
    if (!holds.some(Boolean)) await inTier(only)("load", { ids: [id] });
    return all.filter((_, place) => holds[place]);
  }

  /** Ask for changes of an entry and save them; `changed()` is called after that, and after undoing it. */
  async function edit(entry, call, changed) {
    /** Throw, with what to do, if the entry is not as it was. */
    const expectAs = async (was, advice) => {
      const now = await call("get", { id: entry.id });
      const isSame = now.updated_at === was.updated_at && now.title === was.title;
      if (!isSame) throw new Error(`Someone else changed this entry: ${advice}.`);
    };
    const change = await askChanges(dialog, entry, async (change) => {
      await expectAs(entry, "close this, look at it again, and change it then");
      return { ...change, saved: await call("update", { id: entry.id, ...change.after }) };
    });
    if (!change) return;
    undo.tell(`Saved ${Object.keys(change.after).join(", ")}.`, async () => {
      await expectAs(change.saved, "nothing was undone");
      await call("update", { id: entry.id, ...change.before });
      changed();
      return "Put back as it was. A vector that a program stored for the text before is not back.";
    });
    changed();
  }

  /** Ask and forget an entry, which `copies` other tiers have too; `gone()` is called after that, `back()` after undoing it. */
  async function forget(entry, call, copies, { gone, back }) {
    let links, versions;
    try {
      [{ links }, { versions }] = await Promise.all([call("links", { id: entry.id }), call("history", { id: entry.id })]);
    } catch (error) {
      return undo.tell(sentence(error), null);
    }
    if (!(await askForget(dialog, { entry, links: links.length, versions: versions.length, copies }))) return;
    try {
      await call("delete", { ids: [entry.id] });
    } catch (error) {
      return undo.tell(`Not forgotten. ${sentence(error)}`, null);
    }
    undo.tell(`Forgotten: ${entry.title || entry.id}.`, async () => {
      const message = await restore(call, entry, links);
      back();
      return message;
    });
    gone();
  }

  return { bar: undo.element, tell: undo.tell, dialog, inTier, holding, edit, forget };
}
