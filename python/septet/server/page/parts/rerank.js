// The ranking of hits under other weights, from their signals: the last step of the engine.
// Signals that the engine shares between near candidates, and links that it follows from the best, may change with the
// weights, too: so the server has the last word.

const MOST_TIMES = 4;
const NEAR = 1e-9;

/**
 * Return what is known of an answer for other weights.
 *
 * `own` are the weights of the profile, those on the sliders, with which the server made `answer`.
 */
export function baseOf(answer, own) {
  const { hits, weights: counted } = answer;
  const names = Object.keys(own);
  const unknown = ({ signals }, name) => signals[name] === null || signals[name] === undefined;
  const compared = hits.filter(({ breakdown }) => names.some((name) => name in breakdown));
  const nowhere = (name) => compared.every((hit) => unknown(hit, name));
  const absent = new Set(names.filter((name) => (own[name] > 0 ? counted[name] === 0 : compared.length > 0 && nowhere(name))));
  // Profiles that count what is unknown as 0 tell of nothing unknown, and leave the weights as they are.
  const scaled = names.some((name) => Math.abs(counted[name] - own[name]) > NEAR);
  const shares = absent.size > 0 || scaled || compared.some((hit) => names.some((name) => unknown(hit, name)));
  return { hits, own, counted, absent, shares, times: timesOf(own, counted, absent) };
}

/** The weight of words because no vector stands out: the engine's balance of these two signals. */
function timesOf(own, counted, absent) {
  const pair = ["semantic", "vector"];
  if (pair.some((name) => !(own[name] > 0) || !(counted[name] > 0) || absent.has(name))) return 1;
  const times = (counted.semantic / counted.vector) / (own.semantic / own.vector);
  return Math.min(Math.max(times, 1 / MOST_TIMES), MOST_TIMES);
}

/** Return weights as they count: balanced, and without what no candidate has. */
export function effective(base, weights) {
  const names = Object.keys(weights);
  if (names.every((name) => weights[name] === base.own[name])) return base.counted;
  const balanced = { ...weights };
  if (base.times !== 1) {
    const both = weights.semantic + weights.vector;
    const words = weights.semantic * base.times;
    balanced.semantic = words + weights.vector > 0 ? (both * words) / (words + weights.vector) : 0;
    balanced.vector = both - balanced.semantic;
  }
  for (const name of base.absent) balanced[name] = 0;
  const total = sum(Object.values(balanced));
  if (!base.shares || total <= 0) return balanced;
  return Object.fromEntries(names.map((name) => [name, balanced[name] / total]));
}

/** Return the hits in the order that weights give them, each with its score and parts; equal ones stay as they were. */
export function reranked(base, weights) {
  const counted = effective(base, weights);
  const floor = floorOf(base.hits);
  const hits = base.hits.map((hit, at) => ({ hit: scored(hit, counted, floor), at }));
  const place = ({ hit }) => Math.max(hit.signals.pinned ?? 0, 0);
  hits.sort((a, b) => place(b) - place(a) || apart(b.hit.score, a.hit.score) || apart(b.hit.before, a.hit.before) || a.at - b.at);
  return { weights: counted, hits: hits.map(({ hit }) => hit) };
}

function scored(hit, weights, floor) {
  // A memory of a fixed score was compared with nothing.
  if (!Object.keys(hit.breakdown).some((name) => name in weights)) return { ...hit, before: hit.score };
  const breakdown = {};
  let score = 0;
  for (const [name, weight] of Object.entries(weights)) {
    const value = hit.signals[name];
    breakdown[name] = value === null || value === undefined ? 0 : weight * value;
    score += breakdown[name];
  }
  let before = score;
  // The adjustments of scores: factors, then floors and pins.
  for (const name of Object.keys(hit.breakdown).filter((one) => !(one in weights))) {
    const value = hit.signals[name];
    const after = changed(name, score, value, floor);
    breakdown[name] = after - score;
    score = after;
    if (name !== "floor" && name !== "pinned") before = score;
  }
  return { ...hit, score, breakdown, before };
}

function changed(name, score, value, floor) {
  if (value === null || value === undefined) return score;
  if (name === "pinned") return value > 0 ? 1 : score;
  if (name === "floor") return value > 0 ? Math.max(score, floor) : score;
  return score * value;
}

/** The score that a floor raises to, seen where it raised one. */
function floorOf(hits) {
  const raised = hits.find(({ breakdown, signals }) => breakdown.floor > 0 && !(signals.pinned > 0));
  return raised?.score ?? 0;
}

/** A difference, 0 for what only rounding tells apart. */
function apart(a, b) {
  return Math.abs(a - b) < 1e-12 ? 0 : a - b;
}

function sum(numbers) {
  return numbers.reduce((all, one) => all + one, 0);
}
