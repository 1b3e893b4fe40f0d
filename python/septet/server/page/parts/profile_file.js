// A profile with other weights: as a request, and as a file that `septet search --profile FILE` reads.

const NEVER = 2_147_483_647;

/**
 * Return a built-in profile with other weights.
 *
 * `row` is "text" or "hybrid". `still` keeps the weights from following feedback, as the profile's own may have.
 */
export function profileOf(parent, row, weights, { still = false } = {}) {
  const profile = { name: `${parent} (changed)`, extends: parent, weights: { [row]: { ...weights } } };
  if (still) profile.adaptive = { min_rows: NEVER };
  return profile;
}

/** Return a profile as TOML. */
export function tomlOf({ weights, adaptive, ...named }) {
  const [row] = Object.keys(weights);
  const lines = Object.entries(named).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  lines.push("", `[weights.${row}]`, ...Object.entries(weights[row]).map(([name, value]) => `${keyOf(name)} = ${numberOf(value)}`));
  if (adaptive) lines.push("", "# The weights stay as they are, whatever the feedback.", "[adaptive]", `min_rows = ${adaptive.min_rows}`);
  return `${lines.join("\n")}\n`;
}

const keyOf = (name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));
const numberOf = (value) => (Number.isInteger(value) ? `${value}.0` : String(value));

/** Let the person save a text, or pieces of one, as a file. */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text].flat(), { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
