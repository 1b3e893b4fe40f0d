// A slider for the weight of each signal.

import { fill, h, ownId } from "./dom.js";
import { called, swatch } from "./signals.js";

const STEP = 0.005;

/** Make the sliders; `moved(weights)` is called with all weights whenever one moves. */
export function weightSliders(moved) {
  const element = h("div.sliders");
  let inputs = new Map();

  function make(weights) {
    const names = Object.keys(weights);
    const most = Math.max(1, ...Object.values(weights));
    inputs = new Map(names.map((name) => {
      const id = ownId("weight");
      const output = h("output.number", { for: id });
      const heard = () => moved(read());
      const input = h("input", { id, type: "range", min: 0, max: most, step: STEP, "data-signal": name, on: { input: heard } });
      return [name, { input, output, row: h("div.slider", {}, h("label", { for: id }, swatch(name, names), called(name)), input, output) }];
    }));
    fill(element, [...inputs.values()].map(({ row }) => row));
  }

  // A weight that no step of the slider meets is kept as it is until this slider moves.
  const exact = new Map();

  function read() {
    return Object.fromEntries([...inputs].map(([name, { input }]) => {
      const kept = exact.get(name);
      return [name, kept?.position === input.value ? kept.weight : Number(input.value)];
    }));
  }

  function show(weights, { disabled } = {}) {
    if ([...inputs.keys()].join() !== Object.keys(weights).join()) make(weights);
    for (const [name, { input, output }] of inputs) {
      input.value = String(weights[name]);
      exact.set(name, { position: input.value, weight: weights[name] });
      output.textContent = weights[name].toFixed(3);
      if (disabled !== undefined) input.disabled = disabled;
    }
  }

  return { element, show };
}
