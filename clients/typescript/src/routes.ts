// Made by clients/typescript/generate.py from the OpenAPI document of the server: do not edit.

import type {
  AddRequest, ContextRequest, CountRequest, DeleteEntryQuery, DeleteRequest, EntriesRequest, ExplainRequest,
  FacetsRequest, FeedbackRequest, ForgetRequest, GetQuery, HealthRequest, IdRequest, IdsBeginningRequest,
  LearnedRequest, Link, LinkManyRequest, LinkRequest, ListEntriesQuery, LoadRequest, NeighbourhoodRequest, NoRequest,
  RecallRequest, RememberRequest, RetrieveRequest, SearchByAddressQuery, SearchManyRequest, SearchRequest,
  SessionsRequest, SimilarRequest, StatsQuery, SupersedeRequest, ToolCall, UnlinkRequest, UpdateManyRequest,
  UpdateRequestBody, WeightsRequest,
} from "./requests.js";
import type {
  AddedAnswer, ContextAnswer, CountAnswer, EntryAnswer, ExplanationAnswer, FacetsAnswer, Health, HealthAnswer,
  HistoryAnswer, IdAnswer, IdsAnswer, LearnedAnswer, LinksAnswer, LoadedAnswer, NeighbourhoodAnswer, OkAnswer,
  PageAnswer, ResultsAnswer, RetrievalAnswer, SearchManyAnswer, SessionsAnswer, SlowAnswer, StatsAnswer, StatusAnswer,
  ToolAnswer, WeightsAnswer,
} from "./answers.js";
import { type CallOptions, Transport } from "./transport.js";

/** The operations of a server, by the names of its OpenAPI document. */
export class Routes extends Transport {
  /** Search with the common options, as query parameters. `GET /v1/search` */
  searchByAddress(query: SearchByAddressQuery, options: CallOptions = {}): Promise<ResultsAnswer> {
    return this.json<ResultsAnswer>("/v1/search", { verb: "GET", query }, options);
  }

  /** Find the entries that answer a query, best first. `POST /v1/search` */
  search(body: SearchRequest, options: CallOptions = {}): Promise<ResultsAnswer> {
    return this.json<ResultsAnswer>("/v1/search", { verb: "POST", body }, options);
  }

  /** Answer many queries in one call, with the results of single searches. `POST /v1/search_many` */
  searchMany(body: SearchManyRequest, options: CallOptions = {}): Promise<SearchManyAnswer> {
    return this.json<SearchManyAnswer>("/v1/search_many", { verb: "POST", body }, options);
  }

  /** Find the memories that answer a query. `POST /v1/recall` */
  recall(body: RecallRequest, options: CallOptions = {}): Promise<ResultsAnswer> {
    return this.json<ResultsAnswer>("/v1/recall", { verb: "POST", body }, options);
  }

  /** Search several corpora: the plan, one ranking, and the quality of the evidence. `POST /v1/retrieve` */
  retrieve(body: RetrieveRequest, options: CallOptions = {}): Promise<RetrievalAnswer> {
    return this.json<RetrievalAnswer>("/v1/retrieve", { verb: "POST", body }, options);
  }

  /** Explain the rank of an entry, or its absence. `POST /v1/explain` */
  explain(body: ExplainRequest, options: CallOptions = {}): Promise<ExplanationAnswer> {
    return this.json<ExplanationAnswer>("/v1/explain", { verb: "POST", body }, options);
  }

  /** Find entries like an entry, a text or a vector. `POST /v1/similar` */
  similar(body: SimilarRequest = {}, options: CallOptions = {}): Promise<ResultsAnswer> {
    return this.json<ResultsAnswer>("/v1/similar", { verb: "POST", body }, options);
  }

  /** Return what belongs into a prompt for a query, with the reason for each entry. `POST /v1/context` */
  context(body: ContextRequest, options: CallOptions = {}): Promise<ContextAnswer> {
    return this.json<ContextAnswer>("/v1/context", { verb: "POST", body }, options);
  }

  /** Return the weights that a search would use now. `POST /v1/weights` */
  weights(body: WeightsRequest = {}, options: CallOptions = {}): Promise<WeightsAnswer> {
    return this.json<WeightsAnswer>("/v1/weights", { verb: "POST", body }, options);
  }

  /** Return counts and sizes. `GET /v1/stats` */
  stats(query: StatsQuery = {}, options: CallOptions = {}): Promise<StatsAnswer> {
    return this.json<StatsAnswer>("/v1/stats", { verb: "GET", query }, options);
  }

  /** Return version, tiers, profiles and counts. `GET /v1/status` */
  status(options: CallOptions = {}): Promise<StatusAnswer> {
    return this.json<StatusAnswer>("/v1/status", { verb: "GET" }, options);
  }

  /** Return one entry. `GET /v1/entries/{id}` */
  get(id: string, query: GetQuery = {}, options: CallOptions = {}): Promise<EntryAnswer> {
    return this.json<EntryAnswer>(`/v1/entries/${encodeURIComponent(id)}`, { verb: "GET", query }, options);
  }

  /** Change some fields of an entry. `PATCH /v1/entries/{id}` */
  update(id: string, body: UpdateRequestBody = {}, options: CallOptions = {}): Promise<EntryAnswer> {
    return this.json<EntryAnswer>(`/v1/entries/${encodeURIComponent(id)}`, { verb: "PATCH", body }, options);
  }

  /** Delete one entry. `DELETE /v1/entries/{id}` */
  deleteEntry(id: string, query: DeleteEntryQuery = {}, options: CallOptions = {}): Promise<CountAnswer> {
    return this.json<CountAnswer>(`/v1/entries/${encodeURIComponent(id)}`, { verb: "DELETE", query }, options);
  }

  /** Return full entries by id. `POST /v1/load` */
  load(body: LoadRequest, options: CallOptions = {}): Promise<LoadedAnswer> {
    return this.json<LoadedAnswer>("/v1/load", { verb: "POST", body }, options);
  }

  /** List entries by filter, in any order, page by page. `POST /v1/list` */
  entries(body: EntriesRequest = {}, options: CallOptions = {}): Promise<PageAnswer> {
    return this.json<PageAnswer>("/v1/list", { verb: "POST", body }, options);
  }

  /** Return the ids that begin with a text, to complete a shortened id. `POST /v1/ids` */
  idsBeginning(body: IdsBeginningRequest, options: CallOptions = {}): Promise<IdsAnswer> {
    return this.json<IdsAnswer>("/v1/ids", { verb: "POST", body }, options);
  }

  /** Count the entries that pass a filter. `POST /v1/count` */
  count(body: CountRequest = {}, options: CallOptions = {}): Promise<CountAnswer> {
    return this.json<CountAnswer>("/v1/count", { verb: "POST", body }, options);
  }

  /** Count entries by the values of a field. `POST /v1/facets` */
  facets(body: FacetsRequest, options: CallOptions = {}): Promise<FacetsAnswer> {
    return this.json<FacetsAnswer>("/v1/facets", { verb: "POST", body }, options);
  }

  /** Return the earlier versions of an entry. `POST /v1/history` */
  history(body: IdRequest, options: CallOptions = {}): Promise<HistoryAnswer> {
    return this.json<HistoryAnswer>("/v1/history", { verb: "POST", body }, options);
  }

  /** Return the links from and to an entry. `POST /v1/links/of` */
  links(body: IdRequest, options: CallOptions = {}): Promise<LinksAnswer> {
    return this.json<LinksAnswer>("/v1/links/of", { verb: "POST", body }, options);
  }

  /** Return the entries around one, and the links between them. `POST /v1/neighbourhood` */
  neighbourhood(body: NeighbourhoodRequest, options: CallOptions = {}): Promise<NeighbourhoodAnswer> {
    return this.json<NeighbourhoodAnswer>("/v1/neighbourhood", { verb: "POST", body }, options);
  }

  /** Return the health of the memory: sizes, backlogs and faults by tier. `POST /v1/health` */
  health(body: HealthRequest = {}, options: CallOptions = {}): Promise<HealthAnswer> {
    return this.json<HealthAnswer>("/v1/health", { verb: "POST", body }, options);
  }

  /** Return the weights after each day of feedback. `POST /v1/learned` */
  learned(body: LearnedRequest = {}, options: CallOptions = {}): Promise<LearnedAnswer> {
    return this.json<LearnedAnswer>("/v1/learned", { verb: "POST", body }, options);
  }

  /** Return the slowest searches of the last day. `POST /v1/slow_searches` */
  slowSearches(body: NoRequest = {}, options: CallOptions = {}): Promise<SlowAnswer> {
    return this.json<SlowAnswer>("/v1/slow_searches", { verb: "POST", body }, options);
  }

  /** Return what hooks printed to sessions of agents from the served vault. `POST /v1/sessions` */
  sessions(body: SessionsRequest = {}, options: CallOptions = {}): Promise<SessionsAnswer> {
    return this.json<SessionsAnswer>("/v1/sessions", { verb: "POST", body }, options);
  }

  /** List entries, page by page. `GET /v1/entries` */
  listEntries(query: ListEntriesQuery = {}, options: CallOptions = {}): Promise<PageAnswer> {
    return this.json<PageAnswer>("/v1/entries", { verb: "GET", query }, options);
  }

  /** Store an entry, or overwrite the one with its id. `POST /v1/entries` */
  add(body: AddRequest, options: CallOptions = {}): Promise<AddedAnswer> {
    return this.json<AddedAnswer>("/v1/entries", { verb: "POST", body }, options);
  }

  /** Change every entry that passes a filter. `POST /v1/update_many` */
  updateMany(body: UpdateManyRequest, options: CallOptions = {}): Promise<CountAnswer> {
    return this.json<CountAnswer>("/v1/update_many", { verb: "POST", body }, options);
  }

  /** Delete entries by id or by filter. `POST /v1/delete` */
  delete(body: DeleteRequest = {}, options: CallOptions = {}): Promise<CountAnswer> {
    return this.json<CountAnswer>("/v1/delete", { verb: "POST", body }, options);
  }

  /** Store a memory. `POST /v1/memories` */
  remember(body: RememberRequest, options: CallOptions = {}): Promise<AddedAnswer> {
    return this.json<AddedAnswer>("/v1/memories", { verb: "POST", body }, options);
  }

  /** Delete memories by id or by filter. `POST /v1/forget` */
  forget(body: ForgetRequest = {}, options: CallOptions = {}): Promise<CountAnswer> {
    return this.json<CountAnswer>("/v1/forget", { verb: "POST", body }, options);
  }

  /** Replace an entry by another; the old one remains as a past version. `POST /v1/supersede` */
  supersede(body: SupersedeRequest, options: CallOptions = {}): Promise<IdAnswer> {
    return this.json<IdAnswer>("/v1/supersede", { verb: "POST", body }, options);
  }

  /** Undo a supersede. `POST /v1/reinstate` */
  reinstate(body: IdRequest, options: CallOptions = {}): Promise<OkAnswer> {
    return this.json<OkAnswer>("/v1/reinstate", { verb: "POST", body }, options);
  }

  /** Link two entries. `POST /v1/links` */
  link(body: LinkRequest, options: CallOptions = {}): Promise<OkAnswer> {
    return this.json<OkAnswer>("/v1/links", { verb: "POST", body }, options);
  }

  /** Link many entries, all or none. `POST /v1/link_many` */
  linkMany(body: LinkManyRequest, options: CallOptions = {}): Promise<CountAnswer> {
    return this.json<CountAnswer>("/v1/link_many", { verb: "POST", body }, options);
  }

  /** Remove a link. `POST /v1/unlink` */
  unlink(body: UnlinkRequest, options: CallOptions = {}): Promise<OkAnswer> {
    return this.json<OkAnswer>("/v1/unlink", { verb: "POST", body }, options);
  }

  /** Record feedback on a result. `POST /v1/feedback` */
  feedback(body: FeedbackRequest, options: CallOptions = {}): Promise<OkAnswer> {
    return this.json<OkAnswer>("/v1/feedback", { verb: "POST", body }, options);
  }

  /** Check that the server is alive. `GET /healthz` */
  healthz(options: CallOptions = {}): Promise<Health> {
    return this.json<Health>("/healthz", { verb: "GET" }, options);
  }

  /** Check that the memory answers. `GET /readyz` */
  readyz(options: CallOptions = {}): Promise<Health> {
    return this.json<Health>("/readyz", { verb: "GET" }, options);
  }

  /** Return metrics. `GET /metrics` */
  metrics(options: CallOptions = {}): Promise<string> {
    return this.text("/metrics", { verb: "GET" }, options);
  }

  /** Store, change and delete entries. `POST /v1/bulk` */
  bulk(lines: Iterable<unknown>, options: CallOptions = {}): AsyncGenerator<unknown, void> {
    return this.lines("/v1/bulk", { verb: "POST", lines }, options);
  }

  /** Call an agent tool by name. `POST /v1/tools/call` */
  callTool(body: ToolCall, options: CallOptions = {}): Promise<ToolAnswer> {
    return this.json<ToolAnswer>("/v1/tools/call", { verb: "POST", body }, options);
  }

  /** Export all entries. `GET /v1/export` */
  export(options: CallOptions = {}): AsyncGenerator<unknown, void> {
    return this.lines("/v1/export", { verb: "GET" }, options);
  }
}
