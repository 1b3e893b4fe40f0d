// Calls of the server. Each operation has its route here; a test keeps them equal to those of the server.

export const ROUTES = {
  search: ["POST", "/v1/search"],
  search_many: ["POST", "/v1/search_many"],
  recall: ["POST", "/v1/recall"],
  retrieve: ["POST", "/v1/retrieve"],
  explain: ["POST", "/v1/explain"],
  similar: ["POST", "/v1/similar"],
  weights: ["POST", "/v1/weights"],
  stats: ["GET", "/v1/stats"],
  status: ["GET", "/v1/status"],
  get: ["GET", "/v1/entries/{id}"],
  load: ["POST", "/v1/load"],
  entries: ["POST", "/v1/list"],
  count: ["POST", "/v1/count"],
  facets: ["POST", "/v1/facets"],
  history: ["POST", "/v1/history"],
  links: ["POST", "/v1/links/of"],
  neighbourhood: ["POST", "/v1/neighbourhood"],
  health: ["POST", "/v1/health"],
  learned: ["POST", "/v1/learned"],
  slow_searches: ["POST", "/v1/slow_searches"],
  sessions: ["POST", "/v1/sessions"],
  add: ["POST", "/v1/entries"],
  update: ["PATCH", "/v1/entries/{id}"],
  update_many: ["POST", "/v1/update_many"],
  delete: ["POST", "/v1/delete"],
  remember: ["POST", "/v1/memories"],
  forget: ["POST", "/v1/forget"],
  supersede: ["POST", "/v1/supersede"],
  reinstate: ["POST", "/v1/reinstate"],
  link: ["POST", "/v1/links"],
  unlink: ["POST", "/v1/unlink"],
  feedback: ["POST", "/v1/feedback"],
};

const TOKEN = "septet-token";
const EXPORT = "/v1/export";

/** An error that the server told, or that there was no server to tell one (code "unreachable", status 0). */
export class ApiError extends Error {
  constructor(code, message, status, details = {}) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

/**
 * Make what calls operations.
 *
 * `askToken(reason)` resolves to a token, or null when the person does not want to give one.
 */
export function makeApi(askToken) {
  let asking = null;

  function newToken(reason) {
    // Several calls may be refused at once: the person is asked once.
    asking ??= askToken(reason).then((token) => {
      asking = null;
      if (token) sessionStorage.setItem(TOKEN, token);
      return token;
    });
    return asking;
  }

  /**
   * Do an operation and return its answer.
   *
   * `signal` gives it up; `timed(stages)` is told how many milliseconds each stage took: [{name, ms}].
   */
  async function call(operation, request = {}, { signal, timed } = {}) {
    return answerOf(await allowed((token) => sent(operation, request, token, signal)), timed);
  }

  /** Yield the records of an export, each as {text, record}: its line, and what that says. */
  async function* exported({ signal } = {}) {
    const response = await allowed((token) => fetched(EXPORT, { headers: headersOf(token), signal }));
    if (!response.ok) await answerOf(response);
    let rest = "";
    for await (const piece of piecesOf(response.body.pipeThrough(new TextDecoderStream()))) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop();
      for (const text of lines) yield { text, record: JSON.parse(text) };
    }
    if (rest) throw new ApiError("no_answer", "The export broke off.", response.status);
  }

  /** Return the response to a request that is sent with a token, which the person is asked for where it is wanted. */
  async function allowed(send) {
    for (let asked = 0; ; asked += 1) {
      const used = sessionStorage.getItem(TOKEN);
      const response = await send(used);
      if (response.status !== 401 || asked === 3) return response;
      const other = sessionStorage.getItem(TOKEN);
      if (other !== used) continue;
      const token = await newToken(used ? "The server does not know this token." : "");
      if (!token) return response;
    }
  }

  return { call, exported };
}

/** Yield the pieces of a stream; a browser may not iterate over one itself. */
async function* piecesOf(stream) {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("no_answer", "The export broke off.", 0);
  } finally {
    // A consumer that stops early leaves the connection open otherwise.
    reader.cancel().catch(() => {});
  }
}

function headersOf(token) {
  return token ? { accept: "application/json", authorization: `Bearer ${token}` } : { accept: "application/json" };
}

async function sent(operation, request, token, signal) {
  const [verb, path] = ROUTES[operation];
  const left = { ...request };
  let url = path.replace(/\{(\w+)\}/g, (_, field) => {
    const value = encodeURIComponent(left[field]);
    delete left[field];
    return value;
  });
  const headers = headersOf(token);
  const options = { method: verb, headers, signal };
  if (verb === "GET" || verb === "DELETE") {
    const named = Object.entries(left).filter(([, value]) => value !== undefined && value !== null);
    const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
    const query = new URLSearchParams(named.map(([name, value]) => [name, asText(value)]));
    if (named.length) url += `?${query}`;
  } else {
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(left);
  }
  return fetched(url, options);
}

async function fetched(url, options) {
  try {
    return await fetch(url, { ...options, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("unreachable", "The server does not answer: is it still running?", 0);
  }
}

async function answerOf(response, timed) {
  let body;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("no_answer", `The server answered ${response.status} without JSON.`, response.status);
  }
  if (!response.ok) {
    const { code = "error", message = `The server answered ${response.status}.`, details } = body.error ?? {};
    throw new ApiError(code, message, response.status, details);
  }
  timed?.(stagesOf(response.headers.get("server-timing")));
  return body;
}

/** Read a Server-Timing header: `recall;dur=1.2, rank;dur=0.3`. */
export function stagesOf(header) {
  return (header ?? "")
    .split(",")
    .map((part) => {
      const [name, ...more] = part.split(";").map((text) => text.trim());
      const dur = more.find((text) => text.startsWith("dur="));
      return { name, ms: dur === undefined ? NaN : Number(dur.slice(4)) };
    })
    .filter(({ name, ms }) => name && Number.isFinite(ms));
}
