import type { DuckType, GetPlan, PutPlan } from './column-plans.ts';

/** A column of an upload. */
export interface PutColumn {
  /** Its name in the file. */
  readonly name: string;
  /** Its name in the upload, for errors. */
  readonly title: string;
  readonly plan: PutPlan;
}

/** The bytes of a file's rows as Arrow: known ones, plus the results of statements. */
export interface ArrowMeasure {
  readonly bytes: number;
  readonly bytesPerRow: number;
  /** Each gives one number, as a text. */
  readonly statements: readonly string[];
}

/** Numbers patched into a file after its last row is written. */
export interface FileNotes {
  /** Metadata keys whose values are `NOTE_PLACEHOLDER`. */
  readonly rowsKey: string;
  readonly bytesKey: string;
}

/**
 * How a stream is written, as COPY options cannot change in the middle of a file: in segments, each with its own options,
 * whose row groups end up in one file.
 */
export interface WriteSegments {
  /** The files of a segment that is not the first, one for each lane. */
  readonly tailPaths: readonly string[];
  /** The options of all segments. */
  readonly options: string;
  /** The size of row groups from a row on, in order. The first is for the first row. */
  readonly growing: readonly { readonly from: number; readonly groupRows: number }[];
  /** One more option from the first -0 on: without it, a segment can turn -0 into 0. */
  readonly exact: string;
}

/** The COPY option for row groups of this size. */
export function groupRowsOption(groupRows: number): string {
  return `ROW_GROUP_SIZE ${groupRows}`;
}

/** A placeholder in Parquet metadata for a later number, of the same length. */
export const NOTE_PLACEHOLDER = '0'.repeat(20);

/** Formats the number for a `NOTE_PLACEHOLDER`. */
export function noteText(value: number): string {
  return String(value).padStart(NOTE_PLACEHOLDER.length, '0');
}

/** Bytes of a file to verify against their checksums before reading. */
export interface FileCheck {
  readonly path: string;
  /** Set if this store wrote the file: missing checksums are then damage. */
  readonly isOwn?: true;
  /** The footer is always verified. */
  readonly part: 'footer' | 'all' | RowsPart;
}

/** Rows of a file to verify against their checksums before reading. */
export interface RowsCheck extends FileCheck {
  readonly part: RowsPart;
}

/** The bytes of some rows and columns. */
export interface RowsPart {
  readonly from: number;
  readonly to: number;
  /** Positions of columns. Default: all. */
  readonly columns?: readonly number[];
}

/**
 * A request to the child. The parent generates all SQL. The child first verifies the files in `checks`, then runs the
 * statements in `setup`.
 */
export type ChildRequest = { readonly checks?: readonly FileCheck[]; readonly setup?: readonly string[] } &
  /** Returns the column names and types of a query without running it. */
  (
    | { readonly op: 'inspect'; readonly sql: string }
    /** Returns the rows of a query whose columns are all VARCHAR. */
    | { readonly op: 'texts'; readonly sql: string }
    /** Counts the values of a Parquet file. SQL (`parquet_metadata`) would convert the statistics of all columns to text. */
    | { readonly op: 'values'; readonly path: string }
    /**
     * Streams rows. `isLong`: there are many. `rowChecks`: the files they come from in order, verified incrementally
     * before rows are sent.
     */
    | {
        readonly op: 'read';
        readonly sql: string;
        readonly plans: readonly GetPlan[];
        readonly isLong?: true;
        readonly rowChecks?: readonly RowsCheck[];
      }
    /** Only verifies. `again`: also bytes verified before. */
    | { readonly op: 'verify'; readonly files: readonly FileCheck[]; readonly again?: true }
    /** Writes the following batches to a Parquet file. */
    | {
        readonly op: 'write';
        readonly path: string;
        readonly segments: WriteSegments;
        readonly columns: readonly PutColumn[];
        readonly notes: FileNotes;
      }
    /** Writes the rows of a query to a Parquet file with these COPY options. */
    | {
        readonly op: 'copy';
        readonly sql: string;
        readonly path: string;
        readonly options: string;
        readonly measure: ArrowMeasure;
        readonly notes: FileNotes;
      }
  );

/** Settings of a child, passed as JSON in its first argument. */
export interface ChildSettings {
  /** Statements to configure DuckDB. */
  readonly settings: readonly string[];
  /** Statements to configure the DuckDB instance for uploads, if there is one. */
  readonly uploadSettings?: readonly string[];
  /** Set if the child runs only SQL of clients (`SqlRequest`). */
  readonly isLocked?: true;
  /** Set if the child inherits a batch file. */
  readonly hasBatchFile?: true;
  /** The child kills itself at this RSS, on systems without memory limits. */
  readonly maxRssBytes?: number;
}

/** Responses to the requests, by `op`. */
export interface ChildResponses {
  readonly inspect: readonly { readonly name: string; readonly type: DuckType }[];
  readonly texts: readonly (readonly (string | null)[])[];
  readonly values: number;
  readonly read: { readonly rows: number };
  readonly verify: {
    /** True if all files have checksums. */
    readonly isChecked: boolean;
  };
  readonly write: WrittenNumbers;
  readonly copy: WrittenNumbers;
}

/** The sizes of a written file. */
export interface WrittenNumbers {
  readonly rows: number;
  readonly arrowBytes: number;
  readonly fileBytes: number;
}

/** Why a request failed. */
export type ChildFailure =
  | SqlFailure
  | SqlFault
  | UnreadableFrame
  /** `damaged_file`: a checksum does not match. */
  | { readonly code: 'cancelled' | 'invalid_data' | 'damaged_file'; readonly message: string }
  /** The message is DuckDB's and must not reach clients. `isIntact`: the checksums of the file match. */
  | { readonly code: 'duckdb'; readonly message: string; readonly isIntact?: true };

/** A table or column in a statement. */
export interface NamedPart {
  readonly name: string;
  /** The byte offset in the statement. */
  readonly position: number;
}

/** A frame as a view for SQL. */
export interface SqlView {
  /** The handle. */
  readonly name: string;
  /** Files put by hand can change in place, so the version is part of the view's identity. */
  readonly version: string;
  /** The query for its rows. */
  readonly sql: string;
}

/** A frame as the SQL catalogue lists it. */
export interface CatalogueFrame {
  /** The handle. */
  readonly name: string;
  readonly rows: number;
  /** `type` is the name for clients, `sqlType` that of DuckDB. */
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
      /** Paths in views are relative to this directory. */
      readonly home: string;
      /** The only directories the child may read; they never change. */
      readonly directories: readonly string[];
      /** The views not sent before. */
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

/** DuckDB's error for a failed statement. */
export interface SqlFault {
  readonly code: 'sql_fault';
  /** DuckDB's error type: `Binder`, `Conversion`, `Out of Memory`. */
  readonly kind: string;
  readonly message: string;
  /** The byte offset in the statement. */
  readonly position?: number;
}
