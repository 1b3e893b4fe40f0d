// Made by clients/typescript/generate.py from the OpenAPI document of the server: do not edit.

/** An entry to store; one with the same id is overwritten. */
export interface AddRequest {
  vector?: number[] | Record<string, number[]> | null;
  model?: string | null;
  split?: "auto" | number | null;
  on_similar?: "keep" | "note" | "skip" | "merge" | "supersede" | "suggest";
  similarity?: number;
  kind?: string | null;
  type?: string | null;
  domain?: string | null;
  severity?: "critical" | "warning" | "suggestion" | null;
  attrs?: Record<string, unknown> | null;
  span?: Span | null;
  source?: string | null;
  trust?: "untrusted" | "unverified" | "trusted" | null;
  created_at?: number | string | null;
  updated_at?: number | string | null;
  valid_from?: number | string | null;
  valid_until?: number | string | null;
  description?: string | null;
  context?: string | null;
  tags?: string[] | null;
  parent?: string | null;
  id?: string | null;
  title: string;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** A query of which the context is wanted. */
export interface ContextRequest {
  /** A question or keywords; no character has a special meaning. */
  query: string;
  /** Maximum tokens of the text. */
  max_tokens?: number;
  /** Minimum confidence of a match. */
  min_confidence?: number;
  domain?: string | null;
  where?: Record<string, unknown> | null;
  kinds?: string | string[] | null;
  include_memories?: boolean | null;
  as_of?: number | string | null;
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  tiers?: string | string[] | null;
  query_vector?: number[] | null;
  model?: string | null;
  timeout_s?: number | null;
}

/** Count the entries that pass a filter. */
export interface CountRequest {
  where?: Record<string, unknown> | null;
  as_of?: number | string | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Entries to delete: by id, or by a filter. */
export interface DeleteRequest {
  ids?: string[];
  where?: Record<string, unknown> | null;
  dry_run?: boolean;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** A page of entries. */
export interface EntriesRequest {
  where?: Record<string, unknown> | null;
  order_by?: string | [string, "asc" | "desc"];
  limit?: number;
  /** `next` of the previous page. */
  after?: string | null;
  as_of?: number | string | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** An entry of a search to explain. */
export interface ExplainRequest {
  /** A question or keywords; no character has a special meaning. */
  query: string;
  /** The id of an entry. */
  id: string;
  /** Maximum number of results. */
  limit?: number | null;
  /** Skip this many of the best results. */
  offset?: number;
  /** Words to require or exclude, as {"must": "retry"}. */
  words?: Words | null;
  /** Syntax of the query: plain text, or web-search operators. */
  syntax?: "plain" | "web";
  /** Guess corrections of words that no entry contains. */
  typos?: boolean | null;
  /** Only this domain. */
  domain?: string | null;
  /** Rank entries with these tags higher. */
  boost_tags?: string[] | null;
  /** A filter, as {"tags": {"$in": ["http"]}}. */
  where?: Record<string, unknown> | null;
  /** Ranking profile. */
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  /** Include entries outside their validity. */
  include_expired?: boolean;
  /** Search the entries valid at this time. */
  as_of?: number | string | null;
  /** Drop results below this score. */
  min_score?: number | null;
  /** Drop results below this confidence, 0 to 1. */
  min_confidence?: number | null;
  /** Maximum total tokens of the results. */
  max_tokens?: number | null;
  /** The query as a vector. */
  query_vector?: number[] | null;
  /** Model of the vectors to compare with. */
  model?: string | null;
  /** Only this leg of the search: text or vector. */
  legs?: "text" | "vector" | ("text" | "vector")[] | null;
  /** One result for all parts of a split entry. */
  group_by?: "parent" | null;
  /** 0 to 1: how dissimilar the results should be. */
  diversity?: number | null;
  /** Return partial results after this many seconds. */
  timeout_s?: number | null;
  /** Only these tiers of a federation. */
  tiers?: string | string[] | null;
  /** Count the matches by fields. */
  facets?: string | (string | [string, string])[] | null;
  /** Only these kinds of entries. */
  kinds?: string | string[] | null;
  /** Include memories. */
  include_memories?: boolean;
}

/** A field to count entries by. */
export interface FacetsRequest {
  field: string;
  where?: Record<string, unknown> | null;
  by?: "day" | "month" | "year" | null;
  limit?: number;
  as_of?: number | string | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Feedback on a result. */
export interface FeedbackRequest {
  /** A question or keywords; no character has a special meaning. */
  query: string;
  /** The id of an entry. */
  id: string;
  action: "accepted" | "modified" | "dismissed" | "failed";
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Memories to delete: by id, or by a filter. */
export interface ForgetRequest {
  ids?: string[];
  where?: Record<string, unknown> | null;
  dry_run?: boolean;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** The health of the memory. */
export interface HealthRequest {
  /** Also compare the folders with the disk. */
  folders?: boolean;
}

/** One entry. */
export interface IdRequest {
  /** The id of an entry. */
  id: string;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** A prefix of ids. */
export interface IdsBeginningRequest {
  /** The beginning of an id; capitals count. */
  text: string;
  limit?: number;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** The weights of a profile after each day of feedback. */
export interface LearnedRequest {
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Links to store, all or none. */
export interface LinkManyRequest {
  links: Link[];
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** A link to store. */
export interface LinkRequest {
  /** The id of an entry. */
  source: string;
  /** The id of an entry. */
  target: string;
  type?: string;
  note?: string;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Whole entries by id. */
export interface LoadRequest {
  /** Ids that a search returned. */
  ids: string[];
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** The entries around one. */
export interface NeighbourhoodRequest {
  /** The id of an entry. */
  id: string;
  /** Maximum number of entries. */
  limit?: number;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** A request without fields. */
export type NoRequest = Record<string, never>;

/** A search of memories. */
export interface RecallRequest {
  /** A question or keywords; no character has a special meaning. */
  query: string;
  /** Maximum number of results. */
  limit?: number | null;
  /** Skip this many of the best results. */
  offset?: number;
  /** Words to require or exclude, as {"must": "retry"}. */
  words?: Words | null;
  /** Syntax of the query: plain text, or web-search operators. */
  syntax?: "plain" | "web";
  /** Guess corrections of words that no entry contains. */
  typos?: boolean | null;
  /** Full entries, or light results to choose from. */
  mode?: "full" | "scan";
  /** Only this domain. */
  domain?: string | null;
  /** Rank entries with these tags higher. */
  boost_tags?: string[] | null;
  /** A filter, as {"tags": {"$in": ["http"]}}. */
  where?: Record<string, unknown> | null;
  /** Ranking profile. */
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  /** Include entries outside their validity. */
  include_expired?: boolean;
  /** Search the entries valid at this time. */
  as_of?: number | string | null;
  /** Drop results below this score. */
  min_score?: number | null;
  /** Drop results below this confidence, 0 to 1. */
  min_confidence?: number | null;
  /** Maximum total tokens of the results. */
  max_tokens?: number | null;
  /** The query as a vector. */
  query_vector?: number[] | null;
  /** Model of the vectors to compare with. */
  model?: string | null;
  /** Only this leg of the search: text or vector. */
  legs?: "text" | "vector" | ("text" | "vector")[] | null;
  /** One result for all parts of a split entry. */
  group_by?: "parent" | null;
  /** 0 to 1: how dissimilar the results should be. */
  diversity?: number | null;
  /** Return partial results after this many seconds. */
  timeout_s?: number | null;
  /** Only these tiers of a federation. */
  tiers?: string | string[] | null;
  /** Count the matches by fields. */
  facets?: string | (string | [string, string])[] | null;
}

/** A memory to store. */
export interface RememberRequest {
  /** What to remember, in a sentence or a few. */
  text: string;
  details?: string;
  topics?: string[];
  id?: string | null;
  vector?: number[] | Record<string, number[]> | null;
  model?: string | null;
  on_similar?: "keep" | "note" | "skip" | "merge" | "supersede" | "suggest";
  similarity?: number;
  kind?: string | null;
  type?: string | null;
  domain?: string | null;
  severity?: "critical" | "warning" | "suggestion" | null;
  attrs?: Record<string, unknown> | null;
  source?: string | null;
  trust?: "untrusted" | "unverified" | "trusted" | null;
  created_at?: number | string | null;
  updated_at?: number | string | null;
  valid_from?: number | string | null;
  valid_until?: number | string | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** A search of several corpora. */
export interface RetrieveRequest {
  /** A question or keywords; no character has a special meaning. */
  query: string;
  limit?: number | null;
  corpora?: string[] | null;
  mode?: string | null;
  scope?: Record<string, unknown> | null;
  timeout_s?: number | null;
  profile?: "septet" | "recall" | "planned-retrieval" | null;
}

/** Many queries with one set of options. */
export interface SearchManyRequest {
  queries: string[];
  /** Maximum number of results. */
  limit?: number | null;
  /** Skip this many of the best results. */
  offset?: number;
  /** Words to require or exclude, as {"must": "retry"}. */
  words?: Words | null;
  /** Syntax of the query: plain text, or web-search operators. */
  syntax?: "plain" | "web";
  /** Guess corrections of words that no entry contains. */
  typos?: boolean | null;
  /** Full entries, or light results to choose from. */
  mode?: "full" | "scan";
  /** Only this domain. */
  domain?: string | null;
  /** Rank entries with these tags higher. */
  boost_tags?: string[] | null;
  /** A filter, as {"tags": {"$in": ["http"]}}. */
  where?: Record<string, unknown> | null;
  /** Ranking profile. */
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  /** Include entries outside their validity. */
  include_expired?: boolean;
  /** Search the entries valid at this time. */
  as_of?: number | string | null;
  /** Drop results below this score. */
  min_score?: number | null;
  /** Drop results below this confidence, 0 to 1. */
  min_confidence?: number | null;
  /** Maximum total tokens of the results. */
  max_tokens?: number | null;
  /** Model of the vectors to compare with. */
  model?: string | null;
  /** Only this leg of the search: text or vector. */
  legs?: "text" | "vector" | ("text" | "vector")[] | null;
  /** One result for all parts of a split entry. */
  group_by?: "parent" | null;
  /** 0 to 1: how dissimilar the results should be. */
  diversity?: number | null;
  /** Return partial results after this many seconds. */
  timeout_s?: number | null;
  /** Only these tiers of a federation. */
  tiers?: string | string[] | null;
  /** Count the matches by fields. */
  facets?: string | (string | [string, string])[] | null;
  /** Only these kinds of entries. */
  kinds?: string | string[] | null;
  /** Include memories. */
  include_memories?: boolean;
}

/** A search. */
export interface SearchRequest {
  /** A question or keywords; no character has a special meaning. */
  query: string;
  /** Maximum number of results. */
  limit?: number | null;
  /** Skip this many of the best results. */
  offset?: number;
  /** Words to require or exclude, as {"must": "retry"}. */
  words?: Words | null;
  /** Syntax of the query: plain text, or web-search operators. */
  syntax?: "plain" | "web";
  /** Guess corrections of words that no entry contains. */
  typos?: boolean | null;
  /** Full entries, or light results to choose from. */
  mode?: "full" | "scan";
  /** Only this domain. */
  domain?: string | null;
  /** Rank entries with these tags higher. */
  boost_tags?: string[] | null;
  /** A filter, as {"tags": {"$in": ["http"]}}. */
  where?: Record<string, unknown> | null;
  /** Ranking profile. */
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  /** Include entries outside their validity. */
  include_expired?: boolean;
  /** Search the entries valid at this time. */
  as_of?: number | string | null;
  /** Drop results below this score. */
  min_score?: number | null;
  /** Drop results below this confidence, 0 to 1. */
  min_confidence?: number | null;
  /** Maximum total tokens of the results. */
  max_tokens?: number | null;
  /** The query as a vector. */
  query_vector?: number[] | null;
  /** Model of the vectors to compare with. */
  model?: string | null;
  /** Only this leg of the search: text or vector. */
  legs?: "text" | "vector" | ("text" | "vector")[] | null;
  /** One result for all parts of a split entry. */
  group_by?: "parent" | null;
  /** 0 to 1: how dissimilar the results should be. */
  diversity?: number | null;
  /** Return partial results after this many seconds. */
  timeout_s?: number | null;
  /** Only these tiers of a federation. */
  tiers?: string | string[] | null;
  /** Count the matches by fields. */
  facets?: string | (string | [string, string])[] | null;
  /** Only these kinds of entries. */
  kinds?: string | string[] | null;
  /** Include memories. */
  include_memories?: boolean;
  /** Add title and passage as pieces, of at most this length. */
  passages?: number | null;
}

/** Sessions of agents to which hooks printed entries. */
export interface SessionsRequest {
  /** Maximum number of sessions. */
  limit?: number;
  /** `next` of the previous page. */
  after?: string | null;
  /** A session: its id, or the name of its transcript. */
  session?: string | null;
}

/** Find entries like an entry, a text or a vector. */
export interface SimilarRequest {
  id?: string | null;
  text?: string | null;
  vector?: number[] | null;
  limit?: number;
  min_similarity?: number | null;
  where?: Record<string, unknown> | null;
  kinds?: string | string[] | null;
  include_expired?: boolean;
  include_memories?: boolean;
  model?: string | null;
  mode?: "full" | "scan";
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** An entry that replaces another. */
export interface SupersedeRequest {
  /** The id of an entry. */
  old: string;
  new: string | Record<string, unknown>;
  reason?: string;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

export interface ToolCall {
  name: string;
  arguments?: Record<string, unknown>;
}

/** A link to remove. */
export interface UnlinkRequest {
  /** The id of an entry. */
  source: string;
  /** The id of an entry. */
  target: string;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Change every entry that passes a filter. */
export interface UpdateManyRequest {
  where: Record<string, unknown>;
  merge_attrs?: Record<string, unknown> | null;
  dry_run?: boolean;
  kind?: string | null;
  type?: string | null;
  domain?: string | null;
  severity?: "critical" | "warning" | "suggestion" | null;
  tags?: string[] | null;
  attrs?: Record<string, unknown> | null;
  source?: string | null;
  trust?: "untrusted" | "unverified" | "trusted" | null;
  created_at?: number | string | null;
  updated_at?: number | string | null;
  valid_from?: number | string | null;
  valid_until?: number | string | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** Change some fields of an entry. */
export interface UpdateRequestBody {
  vector?: number[] | Record<string, number[]> | null;
  model?: string | null;
  split?: "auto" | number | null;
  merge_attrs?: Record<string, unknown> | null;
  kind?: string | null;
  type?: string | null;
  domain?: string | null;
  severity?: "critical" | "warning" | "suggestion" | null;
  attrs?: Record<string, unknown> | null;
  span?: Span | null;
  source?: string | null;
  trust?: "untrusted" | "unverified" | "trusted" | null;
  created_at?: number | string | null;
  updated_at?: number | string | null;
  valid_from?: number | string | null;
  valid_until?: number | string | null;
  description?: string | null;
  context?: string | null;
  tags?: string[] | null;
  parent?: string | null;
  title?: string | null;
  /** The tier to use, if the server has several. */
  tier?: string | null;
}

/** The weights of a profile. */
export interface WeightsRequest {
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval" | Record<string, unknown> | null;
  vectors?: boolean | null;
}

export interface Link {
  /** The id of an entry. */
  source: string;
  /** The id of an entry. */
  target: string;
  type?: string;
  note?: string;
}

export interface Span {
  path: string;
  first_line: number;
  last_line: number;
}

export interface Words {
  /** Only entries with all of these words. */
  must?: string | string[] | null;
  /** Only entries with none of these words. */
  must_not?: string | string[] | null;
  /** Only entries with these words in a row. */
  phrase?: string | string[] | null;
  /** Only entries with a word of this prefix; True (a flag): the query's last word. */
  prefix?: boolean | string | string[];
}

export interface SearchByAddressQuery {
  /** A question or keywords; no character has a special meaning. */
  q: string;
  limit?: number;
  offset?: number;
  mode?: "full" | "scan";
  legs?: "text" | "vector";
  /** A built-in profile. */
  profile?: "septet" | "conversation" | "seven-signals" | "six-signals" | "markdown-memory" | "recall" | "planned-retrieval";
  kind?: string;
  type?: string;
  domain?: string;
  severity?: "critical" | "warning" | "suggestion";
  /** Only entries with this tag. */
  tag?: string;
  min_score?: number;
  include_memories?: boolean;
  include_expired?: boolean;
}

export interface StatsQuery {
  /** The tier to use, if the server has several. */
  tier?: string;
}

export interface GetQuery {
  /** The tier to use, if the server has several. */
  tier?: string;
}

export interface DeleteEntryQuery {
  /** The tier to use, if the server has several. */
  tier?: string;
}

export interface ListEntriesQuery {
  kind?: string;
  type?: string;
  domain?: string;
  severity?: string;
  source?: string;
  tag?: string;
  order_by?: string;
  direction?: "asc" | "desc";
  limit?: number;
  /** `next` of the previous page. */
  after?: string;
}
