import type { GetPlan } from './column-plans.ts';
import type { DuckType } from './duck-type.ts';

/** A table or column that a statement names. */
export interface NamedPart {
  readonly name: string;
  /** The byte offset in the statement. */
  readonly position: number;
}

/** A frame that SQL can read as a view. */
export interface SqlView {
  /** The handle. */
  readonly name: string;
  /** Files put by hand can change in place, so the version is part of the view's identity. */
  readonly version: string;
  /** The query that returns its rows. */
  readonly sql: string;
}

/** A frame as the SQL catalogue lists it. */
export interface CatalogueFrame {
  /** The handle. */
  readonly name: string;
  readonly rows: number;
  /** `type` is the name that clients see, `sqlType` that of DuckDB. */
  readonly columns: readonly { readonly name: string; readonly type: string; readonly sqlType: string }[];
}

/** A parameter value: its text and the type to cast it to; BASE64 for the bytes of a BLOB. */
export interface SqlParam {
  readonly type: string;
  /** Null means NULL of any type. */
  readonly text: string | null;
}

/**
 * Requests to a locked child, in this order: check a statement, prepare it over the frames it names, read its rows. The
 * next check discards the previous statement.
 */
export type SqlRequest =
  | { readonly op: 'check'; readonly sql: string }
  /** Frames of the next prepare: more than one message should have. */
  | { readonly op: 'frames'; readonly views: readonly SqlView[]; readonly catalogue: readonly CatalogueFrame[] }
  | {
      readonly op: 'prepare';
      /** The only directories the child may read; they never change. Paths in views are relative to the first. */
      readonly directories: readonly string[];
      /** The views that were not sent before. */
      readonly views: readonly SqlView[];
      /** The rest of all frames of the tenant, if the statement reads the catalogue. */
      readonly catalogue?: readonly CatalogueFrame[];
      /** Omitted if the statement is only described. */
      readonly params?: readonly SqlParam[];
    }
  | { readonly op: 'nearest'; readonly name: string; readonly candidates: readonly string[] }
  | {
      readonly op: 'rows';
      readonly plans: readonly GetPlan[];
      /** The types to cast columns to before reading, if any. */
      readonly casts?: readonly string[];
    };

/** Responses to the requests, by `op`. */
export interface SqlResponses {
  readonly check: {
    readonly tables: readonly NamedPart[];
    /** The distinct columns it names without a table; only if it names several tables. */
    readonly columns?: readonly NamedPart[];
    /** It only lists the frames. */
    readonly listsFrames?: true;
    /** It reads the catalogue. */
    readonly readsCatalogue?: true;
    /** It selects columns of one frame unchanged, and computes only with these columns (in lower case). */
    readonly columnsUsed?: readonly string[];
  };
  readonly prepare: {
    readonly columns: readonly { readonly name: string; readonly type: DuckType }[];
    readonly parameters: readonly DuckType[];
  };
  readonly frames: null;
  readonly nearest: string | null;
  readonly rows: { readonly rows: number };
}

/** A frame whose file DuckDB cannot read. */
export interface UnreadableFrame {
  readonly code: 'unreadable_frame';
  readonly frame: string;
  /** DuckDB's message, not for clients. */
  readonly kind: string;
  readonly message: string;
}

/** Why a statement was refused. */
export interface SqlFailure {
  readonly code: 'invalid_sql' | 'permission_denied';
  readonly message: string;
  readonly hint?: string;
  /** The byte offset in the statement. */
  readonly position?: number;
}
