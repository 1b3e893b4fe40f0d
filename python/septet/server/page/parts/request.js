// The parameters of a search: in the address, and in a request to the server.

/** Parameters of the address that shape a search, beside q: those that count as filters. */
export const FILTERS = ["kind", "domain", "type", "severity", "boost_tags", "where", "expired", "memories", "min_score"];
const OTHERS = ["q", "limit", "offset", "mode", "leg", "profile"];

/** A field that cannot be read. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** Return the parameters of a search among others. */
export function searchParams(params) {
  const named = [...OTHERS, ...FILTERS].filter((name) => params[name]);
  return Object.fromEntries(named.map((name) => [name, params[name]]));
}

/** Return the request that parameters stand for. Throws FieldError. */
export function requestOf(params) {
  const request = { query: params.q ?? "" };
  const take = (name, option, read = (value) => value) => {
    if (params[name]) request[option] = read(params[name], name);
  };
  take("limit", "limit", whole);
  take("offset", "offset", whole);
  take("mode", "mode");
  take("leg", "legs");
  take("profile", "profile");
  take("kind", "kinds", words);
  take("domain", "domain");
  take("boost_tags", "boost_tags", words);
  take("where", "where", filter);
  for (const name of ["type", "severity"]) {
    const field = { [name]: params[name] };
    if (params[name]) request.where = request.where ? { $and: [request.where, field] } : field;
  }
  take("min_score", "min_score", number);
  take("expired", "include_expired", () => true);
  take("memories", "include_memories", () => true);
  return request;
}

/** Return parameters changed as options of a search were: {limit: 12, domain: null}. */
export function changedParams(params, changes) {
  const changed = { ...params };
  const names = { query: "q", kinds: "kind", legs: "leg", include_expired: "expired", include_memories: "memories" };
  for (const [option, value] of Object.entries(changes)) {
    const name = names[option] ?? option;
    if (value === null || value === false || value === 0) delete changed[name];
    else if (value === true) changed[name] = "1";
    else if (Array.isArray(value)) changed[name] = value.join(", ");
    else changed[name] = typeof value === "object" ? JSON.stringify(value) : String(value);
  }
  return changed;
}

function whole(text, field) {
  if (!/^\d{1,9}$/.test(text)) throw new FieldError(field, `${field} is a whole number.`);
  return Number(text);
}

function number(text, field) {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new FieldError(field, `${field} is a number.`);
  return value;
}

function words(text) {
  return text.split(",").map((word) => word.trim()).filter(Boolean);
}

function filter(text) {
  let read;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new FieldError("where", `The filter is no JSON yet: ${error.message}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    throw new FieldError("where", 'The filter is an object, such as {"tags": {"$in": ["http"]}}.');
  }
  return read;
}
