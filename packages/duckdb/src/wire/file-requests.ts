import type { GetPlan, PutPlan } from './column-plans.ts';
import type { DuckType } from './duck-type.ts';
import type { SqlFault } from './sql-fault.ts';
import type { SqlFailure, UnreadableFrame } from './sql-requests.ts';

/** A column of an upload. */
export interface PutColumn {
  /** Its name in the file. */
  readonly name: string;
  /** Its name in the upload, for errors. */
  readonly title: string;
  readonly plan: PutPlan;
}

/** The bytes that the rows of a file take as Arrow: a sum of what is known and of what statements answer. */
export interface ArrowMeasure {
  readonly bytes: number;
  readonly bytesPerRow: number;
  /** Each gives one number, as a text. */
  readonly statements: readonly string[];
}

/** Numbers that are patched into a file after its last row is written. */
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

/** A placeholder in Parquet metadata for a number that is not known yet, of the same length. */
export const NOTE_PLACEHOLDER = '0'.repeat(20);

/** Formats the number that replaces a `NOTE_PLACEHOLDER`. */
export function noteText(value: number): string {
  return String(value).padStart(NOTE_PLACEHOLDER.length, '0');
}

/** Bytes of a file to verify against their checksums before reading. */
export interface FileCheck {
  readonly path: string;
  /** Whether this store wrote the file: if so, missing checksums are damage. */
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
    /** Only verifies. `again`: also bytes that were verified before. */
    | { readonly op: 'verify'; readonly files: readonly FileCheck[]; readonly again?: true }
    /** Writes the batches that follow to a Parquet file. */
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
  /** Statements that configure DuckDB. */
  readonly settings: readonly string[];
  /** Statements that configure the DuckDB instance that writes uploads, if there is one. */
  readonly uploadSettings?: readonly string[];
  /** Whether the child runs only SQL of clients (`SqlRequest`). */
  readonly isLocked?: true;
  /** Whether the child inherits a batch file. */
  readonly hasBatchFile?: true;
  /** The RSS at which the child kills itself, on systems without memory limits. */
  readonly maxRssBytes?: number;
}

/** Responses to the requests, by `op`. */
export interface ChildResponses {
  readonly inspect: readonly { readonly name: string; readonly type: DuckType }[];
  readonly texts: readonly (readonly (string | null)[])[];
  readonly values: number;
  readonly read: { readonly rows: number };
  readonly verify: {
    /** Whether all files have checksums. */
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
