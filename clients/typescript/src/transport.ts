import type { Health } from "./answers.js";
import { KINDS, RequestError, SeptetError, Unreachable } from "./errors.js";

export interface ClientOptions {
  /** What `Authorization: Bearer` brings. */
  token?: string;
  /** Milliseconds of a call, by default 30,000; of `lines`, until the first of them. */
  timeoutMs?: number;
  /** What asks in the place of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call, and what is read of its answer. */
  signal?: AbortSignal;
  timeoutMs?: number;
}

interface Call {
  answer: Response;
  late: ReturnType<typeof setTimeout>;
  close: () => void;
}

interface Sent {
  verb: string;
  query?: object;
  body?: unknown;
  lines?: Iterable<unknown>;
}

/** Sends requests; answers that are no success are errors of the tree in `errors.ts`. */
export class Transport {
  private readonly base: string;

  constructor(
    url: string,
    private readonly options: ClientOptions = {},
  ) {
    this.base = url.replace(/\/+$/, "");
  }

  protected async json<T>(path: string, sent: Sent, options: CallOptions): Promise<T> {
    return JSON.parse(await this.text(path, sent, options)) as T;
  }

  protected async text(path: string, sent: Sent, options: CallOptions): Promise<string> {
    const call = await this.open(path, sent, options);
    try {
      return await call.answer.text();
    } catch (fault) {
      throw options.signal?.aborted ? fault : unreachable(fault);
    } finally {
      call.close();
    }
  }

  /** Gives the values of an answer that has one a line, as they come. */
  protected async *lines(path: string, sent: Sent, options: CallOptions): AsyncGenerator<unknown, void> {
    const call = await this.open(path, sent, options);
    const reader = call.answer.body?.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
      while (reader !== undefined) {
        const { done, value } = await reader.read();
        clearTimeout(call.late);
        const whole = (rest + decoder.decode(value, { stream: !done })).split("\n");
        rest = done ? "" : (whole.pop() ?? "");
        for (const line of whole) if (line !== "") yield JSON.parse(line) as unknown;
        if (done) return;
      }
    } catch (fault) {
      throw options.signal?.aborted ? fault : unreachable(fault);
    } finally {
      await reader?.cancel().catch(() => undefined);
      call.close();
    }
  }

  private async open(path: string, sent: Sent, options: CallOptions): Promise<Call> {
    const ending = new AbortController();
    const end = (): void => ending.abort(options.signal?.reason);
    const limit = options.timeoutMs ?? this.options.timeoutMs ?? 30_000;
    const late = setTimeout(() => ending.abort(new Error(`no answer in ${limit} ms`)), limit);
    const close = (): void => {
      clearTimeout(late);
      options.signal?.removeEventListener("abort", end);
    };
    if (options.signal?.aborted) end();
    options.signal?.addEventListener("abort", end);
    try {
      const ask = this.options.fetch ?? fetch;
      const answer = await ask(this.base + path + queryOf(sent.query), {
        method: sent.verb,
        headers: this.headers(sent),
        body: bodyOf(sent),
        // It could take the token elsewhere.
        redirect: "error",
        signal: ending.signal,
      });
      if (!answer.ok) throw errorOf(answer.status, await answer.text());
      return { answer, late, close };
    } catch (fault) {
      close();
      throw fault instanceof SeptetError || options.signal?.aborted ? fault : unreachable(fault);
    }
  }

  private headers(sent: Sent): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.options.token !== undefined) headers["Authorization"] = `Bearer ${this.options.token}`;
    if (sent.body !== undefined) headers["Content-Type"] = "application/json";
    if (sent.lines !== undefined) headers["Content-Type"] = "application/x-ndjson";
    return headers;
  }
}

function unreachable(fault: unknown): Unreachable {
  const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause : fault;
  const said = cause instanceof Error ? cause.message : String(cause);
  return new Unreachable(`the server cannot be reached, or broke off its answer: ${said}`, Unreachable.code);
}

function queryOf(query: object = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

function bodyOf(sent: Sent): string | null {
  if (sent.lines !== undefined) return Array.from(sent.lines, (line) => JSON.stringify(line) + "\n").join("");
  return sent.body === undefined ? null : JSON.stringify(sent.body);
}

function errorOf(status: number, text: string): SeptetError {
  try {
    const told = JSON.parse(text) as { error: Fault } | Health;
    // Of /readyz.
    if ("status" in told) return new RequestError(`the server is not ready: ${told.status}`, told.status, status);
    const { code, message, details } = told.error;
    const kind = KINDS.find((one) => one.code === code) ?? RequestError;
    return new kind(message, code, status, details);
  } catch {
    return new Unreachable(`an answer with status ${status} that is none of Septet`, Unreachable.code, status);
  }
}

interface Fault {
  code: string;
  message: string;
  details: Record<string, unknown>;
}
