// Made by clients/typescript/generate.py from the OpenAPI document of the server: do not edit.

/** What a server answers instead of a result; `code` is for programs, and names the class. */

export class SeptetError extends Error {
  static readonly code: string = "septet_error";
  /** The code of the error; the status of the answer, 0 without one; what else the server says. */
  constructor(
    message: string,
    readonly code: string,
    readonly status: number = 0,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = new.target.name;
  }
}

/** A provider did not return vectors. API keys never appear in messages, reprs or attributes. */
export class EmbeddingError extends SeptetError {
  static override readonly code: string = "embedding_error";
}

/** An entry, link or feedback row cannot be stored; nothing was written. */
export class EntryError extends SeptetError {
  static override readonly code: string = "entry_error";
}

/** The vault has no entry with this id. */
export class EntryNotFound extends SeptetError {
  static override readonly code: string = "entry_not_found";
}

/** A search is malformed. */
export class QueryError extends SeptetError {
  static override readonly code: string = "query_error";
}

/** The file of a vault cannot be used. */
export class StoreError extends SeptetError {
  static override readonly code: string = "store_error";
}

/** The name of a tier is unknown or taken, or its weight is out of range. */
export class TierError extends SeptetError {
  static override readonly code: string = "tier_error";
}

/** An embedding configuration is malformed, or names no provider that can work. */
export class EmbeddingConfigError extends EmbeddingError {
  static override readonly code: string = "embedding_config_error";
}

/** The provider permanently rejects the request: a wrong key, no quota, a malformed request. */
export class EmbeddingRefused extends EmbeddingError {
  static override readonly code: string = "embedding_refused";
}

/** The provider did not respond in time, or failed; a retry may succeed. */
export class EmbeddingUnavailable extends EmbeddingError {
  static override readonly code: string = "embedding_unavailable";
}

/** A batch write stopped in the middle. */
export class BatchError extends EntryError {
  static override readonly code: string = "batch_error";
}

/** A vector is all zero, contains NaN or infinity, or has a wrong dimension. */
export class VectorError extends EntryError {
  static override readonly code: string = "vector_error";
}

/** A profile is unknown or malformed. */
export class ProfileError extends QueryError {
  static override readonly code: string = "profile_error";
}

/** The vault was closed. */
export class Closed extends StoreError {
  static override readonly code: string = "closed";
}

/** This process was forked during a read or a write of its parent, and must not use the file. */
export class ForkedInUse extends StoreError {
  static override readonly code: string = "forked_in_use";
}

/** The file is not an SQLite database, or belongs to another program. */
export class NotAVault extends StoreError {
  static override readonly code: string = "not_a_vault";
}

/** The vault was opened for reading, or its medium is read-only. */
export class ReadOnly extends StoreError {
  static override readonly code: string = "read_only";
}

/** The file was written by a newer Septet; it was not changed. */
export class SchemaTooNew extends StoreError {
  static override readonly code: string = "schema_too_new";
}

/** Another process held the write lock for too long, or a callback of a sync started another sync. */
export class StoreBusy extends StoreError {
  static override readonly code: string = "store_busy";
}

/** The server of a remote vault rejects the token, or requires one; a retry does not help. */
export class Unauthorized extends StoreError {
  static override readonly code: string = "unauthorized";
}

/** The server of a remote vault did not respond, or sent an unreadable response. */
export class Unreachable extends StoreError {
  static override readonly code: string = "unreachable";
}

/** The file was deleted, replaced or restored while the vault was open; close the vault and open it again. */
export class VaultReplaced extends StoreError {
  static override readonly code: string = "vault_replaced";
}

/** The request was refused before it reached the memory, or had no answer in time: see `code`. */
export class RequestError extends SeptetError {
  static override readonly code: string = "request_error";
}

export const KINDS: readonly (typeof SeptetError)[] = [
  SeptetError, EmbeddingError, EntryError, EntryNotFound, QueryError, StoreError, TierError, EmbeddingConfigError,
  EmbeddingRefused, EmbeddingUnavailable, BatchError, VectorError, ProfileError, Closed, ForkedInUse, NotAVault,
  ReadOnly, SchemaTooNew, StoreBusy, Unauthorized, Unreachable, VaultReplaced,
];
