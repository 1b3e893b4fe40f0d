// Made by clients/typescript/generate.py from the OpenAPI document of the server: do not edit.

/** The id of the stored entry; with `on_similar="suggest"`, a suggestion, and nothing is stored: `Suggestion`. */
export interface AddedAnswer {
  id: string;
  verdict?: "new" | "same" | "changes" | "contradicts";
  other?: string | null;
  probability?: number;
  reason?: string;
}

/** The entries that belong into a prompt: `Context.to_dict()`. */
export interface ContextAnswer {
  text: string;
  items: ContextItemAnswer[];
  left_out: LeftOutAnswer[];
  tokens: number;
  confidence: number;
  profile: string;
  notes: NoteAnswer[];
}

/** An entry in a context, and the reason for it. */
export interface ContextItemAnswer {
  hit: HitAnswer;
  code: "pinned" | "alias" | "matches";
  reason: string;
  tokens: number;
}

/** The number of entries affected. */
export interface CountAnswer {
  count: number;
}

/** The embedder and its activity. */
export interface EmbeddingHealthAnswer {
  model: string | null;
  activity: string;
  asking: boolean;
  models: ModelHealthAnswer[];
  notes: NoteAnswer[];
}

/** An entry, without its empty optional fields. */
export interface EntryAnswer {
  id: string;
  kind: string;
  type: string;
  domain: string;
  severity: "critical" | "warning" | "suggestion";
  trust: "untrusted" | "unverified" | "trusted";
  title: string;
  description: string;
  context: string;
  tags: string[];
  created_at: number;
  updated_at: number;
  attrs?: Record<string, unknown>;
  valid_from?: number;
  valid_until?: number;
  parent?: string;
  source?: string;
  span?: SpanAnswer;
}

export interface Error {
  error: ErrorDetail;
}

export interface ErrorDetail {
  /** Code of the error, for programs. */
  code: string;
  /** What was seen, what was expected, what to do. */
  message: string;
  details: Record<string, unknown>;
}

/** The reasons for the rank of an entry, or for its absence: `Explanation.to_dict()`. */
export interface ExplanationAnswer {
  id: string;
  query: string;
  found: boolean;
  rank: number | null;
  limit: number;
  candidates: number;
  score: number | null;
  reason: string;
  tier: string;
  confidence: number;
  breakdown: Record<string, number>;
  signals: Record<string, number | null>;
  weights: Record<string, number>;
  filters: Record<string, boolean>;
  raw: Record<string, number | null>;
  estimated: string[];
  legs: LegAnswer[];
  notes: NoteAnswer[];
  remedy: RemedyAnswer | null;
}

/** The number of entries by value of a field. */
export interface FacetsAnswer {
  field: string;
  values: ValueAnswer[];
  total: number;
  missing: number;
  distinct: number;
  other: number;
}

/** A followed folder: the number of files that differ, and the time of the last sync. */
export interface FolderHealthAnswer {
  name: string;
  files: number;
  chunks: number;
  new: number;
  changed: number;
  gone: number;
  skipped: number;
  problems: number;
  missing: boolean;
  rebuilding: boolean;
  failed: boolean;
  synced_at: number | null;
}

/** The followed folders of a tier; `in_step` is True if every file is indexed as it is on disk. */
export interface FoldersHealthAnswer {
  in_step: boolean;
  running: boolean;
  folders: FolderHealthAnswer[];
}

export interface Health {
  status: "ok" | "degraded" | "failed" | "stopping";
  /** Codes. */
  notes?: string[];
}

/** The health of a memory by tier. */
export interface HealthAnswer {
  at: number;
  tiers: TierHealthAnswer[];
}

/** The earlier versions of an entry, newest first. */
export interface HistoryAnswer {
  versions: VersionAnswer[];
}

/** A result: with `entry` and its signals in mode `full`, with title and snippet in mode `scan`. */
export interface HitAnswer {
  id: string;
  score: number;
  confidence: number;
  tier: string;
  citation?: string;
  parts?: Record<string, unknown>[];
  entry?: EntryAnswer;
  breakdown?: Record<string, number>;
  signals?: Record<string, number | null>;
  raw?: Record<string, number | null>;
  title?: string;
  kind?: string;
  type?: string;
  domain?: string;
  severity?: "critical" | "warning" | "suggestion";
  tags?: string[];
  source?: string | null;
  trust?: "untrusted" | "unverified" | "trusted";
  snippet?: string;
  token_estimate?: number;
  parent?: string;
  marked?: MarkedAnswer;
}

/** The id of the stored entry. */
export interface IdAnswer {
  id: string;
}

/** Ids of entries. */
export interface IdsAnswer {
  ids: string[];
}

/** The weights of a profile by day of feedback; `base` are those without feedback. */
export interface LearnedAnswer {
  profile: string;
  row: string;
  min_rows: number;
  base: Record<string, number>;
  cause: string;
  earlier_days: number;
  days: LearnedDayAnswer[];
}

/** A day with feedback: its feedback by action, and the weights after it. */
export interface LearnedDayAnswer {
  day: string;
  actions: Record<string, number>;
  counted: number;
  accept_rate: number | null;
  weights: Record<string, number>;
}

/** An entry that is not in a context, and the reason. */
export interface LeftOutAnswer {
  id: string;
  code: "budget" | "same" | "older" | "below";
  reason: string;
}

/** The rank of an entry in one leg. */
export interface LegAnswer {
  leg: string;
  matched: boolean;
  rank: number | null;
  of: number;
  taken: number;
  value: number | null;
  detail: string;
}

/** A link between two entries. */
export interface LinkAnswer {
  source: string;
  target: string;
  type: string;
  note: string;
}

/** The links from and to an entry. */
export interface LinksAnswer {
  links: LinkAnswer[];
}

/** Whole entries; `missing` are the ids that do not exist. */
export interface LoadedAnswer {
  entries: EntryAnswer[];
  missing: string[];
}

/** The excerpt of a hit, in pieces. */
export interface MarkedAnswer {
  title: PieceAnswer[];
  passage: PieceAnswer[];
}

/** A model to embed with, and the fault that prevents it. */
export interface ModelHealthAnswer {
  model: string;
  configured: boolean;
  fault: string | null;
}

/** Entries around one, itself first, and the links between them; `left_out` neighbours exceed the limit. */
export interface NeighbourhoodAnswer {
  nodes: NodeAnswer[];
  links: LinkAnswer[];
  left_out: number;
}

/** An entry of a neighbourhood: `steps` from the middle, its number of `links`, and of those `shown`. */
export interface NodeAnswer {
  id: string;
  title: string;
  kind: string;
  domain: string;
  severity: "critical" | "warning" | "suggestion";
  steps: number;
  links: number;
  shown: number;
}

/** A notice of a degraded or changed search: a code for programs, the cause, and the cure. */
export interface NoteAnswer {
  code: string;
  cause: string;
  cure: string;
  tier: string;
}

/** True if anything changed. */
export interface OkAnswer {
  changed: boolean;
}

/** A page of entries; `next` is the cursor of the next page. */
export interface PageAnswer {
  entries: EntryAnswer[];
  next: string | null;
}

/** A piece of a text; marked if it is a word of the query. */
export interface PieceAnswer {
  text: string;
  match: boolean;
}

/**
 * An entry that was printed, with the time of its last change then; without text and kind if it is gone. `text` is
 * its title, or the beginning of its description if it is a part of a file with the name as title.
 */
export interface PrintedAnswer {
  id: string;
  text: string | null;
  kind: string | null;
  version: number;
  state: "current" | "changed" | "expired" | "gone";
}

/** Changes to the options of a search that return an entry, and its rank then. */
export interface RemedyAnswer {
  changes: Record<string, unknown>;
  rank: number;
  text: string;
}

/** The results of a search, best first: `Results.to_dict()`. */
export interface ResultsAnswer {
  query: string;
  profile: string;
  mode: string;
  took_ms: number;
  weights: Record<string, number>;
  confidence: number;
  total: number | null;
  offset: number;
  facets?: Record<string, FacetsAnswer>;
  understood?: Record<string, unknown>;
  matched_by?: string;
  hits: HitAnswer[];
  notes: NoteAnswer[];
  tiers: TierReportAnswer[];
}

/** The results from several corpora: `Retrieval.to_dict()`. */
export interface RetrievalAnswer {
  query: string;
  profile: string;
  took_ms: number;
  confidence: number | null;
  hits: HitAnswer[];
  notes: NoteAnswer[];
  plan: Record<string, unknown>;
  envelope: Record<string, unknown>;
  lists: Record<string, unknown>[];
}

/** The results of each query, in the order of the queries. */
export interface SearchManyAnswer {
  results: ResultsAnswer[];
}

/** A session: its calls, oldest first, without the `left_out` earliest entries; times of its compactions. */
export interface SessionAnswer {
  session: string;
  calls: SessionCallAnswer[];
  compacted: number[];
  left_out: number;
}

/** A call of a hook that printed entries. */
export interface SessionCallAnswer {
  at: number;
  program: string;
  entries: PrintedAnswer[];
}

/** Sessions, last called first; `recorded` is False if no vault in a file is served. `next` leads to more. */
export interface SessionsAnswer {
  recorded: boolean;
  kept_days: number;
  sessions: SessionAnswer[];
  next: string | null;
}

/** The sidecar of the file: `current`, `behind` by this number of writes, `none`, or `off`. */
export interface SidecarHealthAnswer {
  state: string;
  behind: number;
  size_bytes: number;
}

/** The slowest searches of the last day, slowest first; `watching` is False if searches are not recorded. */
export interface SlowAnswer {
  watching: boolean;
  queries_kept: boolean;
  seen: number;
  searches: SlowSearchAnswer[];
}

/** A slow search; `query` only if the server keeps queries. */
export interface SlowSearchAnswer {
  at: number;
  method: string;
  query?: string;
  query_chars: number;
  queries: number;
  took_ms: number;
  stages: Record<string, number>;
  candidates: number;
  hits: number;
  profile: string;
  notes: string[];
  error: string | null;
}

/** Vectors of one model. */
export interface SpaceAnswer {
  model: string;
  dimensions: number;
  entries: number;
}

/** The completeness of the vectors of a model. */
export interface SpaceHealthAnswer {
  model: string;
  dimensions: number | null;
  entries: number;
  missing: number;
  active: boolean;
  given: boolean;
  standby: boolean;
}

/** Lines of a file. */
export interface SpanAnswer {
  path: string;
  first_line: number;
  last_line: number;
}

/** The counts of a vault: `Stats.to_dict()` without the paths of the server. */
export interface StatsAnswer {
  entries: number;
  kinds: Record<string, number>;
  links: number;
  feedback: Record<string, number>;
  spaces: SpaceAnswer[];
  generation: number;
  size_bytes: number;
  notes: NoteAnswer[];
  tiers?: Record<string, unknown>;
}

/** The state of the server: names and counts, without its paths, and whether this request's token may write. */
export interface StatusAnswer {
  version: string;
  writable: boolean;
  tiers: Record<string, number>;
  profile: string;
  profiles: string[];
  entries: number;
  kinds: Record<string, number>;
  links: number;
  spaces: SpaceAnswer[];
  notes: NoteAnswer[];
}

/** One tier, or the only vault as `vault`; only `error` if it cannot be read. */
export interface TierHealthAnswer {
  name: string;
  error: string | null;
  entries?: number;
  links?: number;
  feedback?: Record<string, number>;
  generation?: number;
  size_bytes?: number;
  notes?: NoteAnswer[];
  spaces?: SpaceHealthAnswer[];
  embedding?: EmbeddingHealthAnswer;
  sidecar?: SidecarHealthAnswer;
  folders?: FoldersHealthAnswer;
}

/** The report of a tier on a search. */
export interface TierReportAnswer {
  name: string;
  priority: number;
  candidates: number;
  generation: number;
  took_ms: number;
  error: string | null;
}

export interface ToolAnswer {
  success: boolean;
  is_error: boolean;
  result: Record<string, unknown>;
  text: string;
}

export interface ToolFault {
  success?: boolean;
  is_error?: boolean;
  result?: string;
  error: ErrorDetail;
}

/** A value of a field, and the number of entries that have it. */
export interface ValueAnswer {
  value: string | number | boolean;
  count: number;
}

/** An earlier version of an entry. */
export interface VersionAnswer {
  entry: EntryAnswer;
  replaced_at: number;
  call: string;
  changed: string[];
}

/** The weights in use and the reasons: `Weights.to_dict()`. */
export interface WeightsAnswer {
  profile: string;
  row: string;
  values: Record<string, number>;
  cause: string;
  counted: number;
  accept_rate: number | null;
}
