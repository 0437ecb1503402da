import type { GetPlan } from './column-plans.ts';
import type { DuckType } from './duck-type.ts';

/** A table or column that a statement names. */
export interface NamedPart {
  readonly name: string;
  /** Where, in bytes of the statement. */
  readonly position: number;
}

/** A frame as SQL sees it. */
export interface SqlView {
  /** The handle. */
  readonly name: string;
  /** Others' files change under their names. */
  readonly version: string;
  /** The statement that gives its rows. */
  readonly sql: string;
}

/** A frame as the catalogue shows it. */
export interface CatalogueFrame {
  /** The handle. */
  readonly name: string;
  readonly rows: number;
  readonly columns: readonly { readonly name: string; readonly sqlType: string }[];
}

/** A value for a parameter: a text, and the type it is read as. */
export interface SqlParam {
  readonly type: string;
  /** Null is null, whatever the type. */
  readonly text: string | null;
}

/**
 * What a locked child is asked for, in this order: a statement is checked, then prepared over the frames it names, then
 * its rows are read. The next check ends what was there before.
 */
export type SqlRequest =
  | { readonly op: 'check'; readonly sql: string }
  | {
      readonly op: 'prepare';
      /** The only directories the child ever reads, always the same ones. Paths in views are relative to the first. */
      readonly directories: readonly string[];
      readonly views: readonly SqlView[];
      /** All frames of the tenant, where the statement reads the catalogue. */
      readonly catalogue?: readonly CatalogueFrame[];
      /** Left out where the statement will not be run. */
      readonly params?: readonly SqlParam[];
    }
  | { readonly op: 'nearest'; readonly name: string; readonly candidates: readonly string[] }
  | {
      readonly op: 'rows';
      readonly plans: readonly GetPlan[];
      /** The types that columns are cast to first, where any has to be. */
      readonly casts?: readonly string[];
    };

/** Answers to the requests, by their `op`. */
export interface SqlResponses {
  readonly check: {
    readonly tables: readonly NamedPart[];
    /** The columns it names without a table, each once; only where it names several tables. */
    readonly columns?: readonly NamedPart[];
    /** It asks for the list of the frames there are, and nothing else. */
    readonly listsFrames?: true;
    /** It reads what tables and columns there are. */
    readonly readsCatalogue?: true;
    /** It gives columns of a frame as they are, and does something with no others than these (in lower case). */
    readonly columnsUsed?: readonly string[];
  };
  readonly prepare: {
    readonly columns: readonly { readonly name: string; readonly type: DuckType }[];
    readonly parameters: readonly DuckType[];
  };
  readonly nearest: string | null;
  readonly rows: { readonly rows: number };
}

/** A frame whose file cannot be read. */
export interface UnreadableFrame {
  readonly code: 'unreadable_frame';
  readonly frame: string;
  /** What DuckDB says of it, not for clients. */
  readonly kind: string;
  readonly message: string;
}

/** Why a statement is not run. */
export interface SqlFailure {
  readonly code: 'invalid_sql' | 'permission_denied';
  readonly message: string;
  readonly hint?: string;
  /** In bytes of the statement. */
  readonly position?: number;
}
