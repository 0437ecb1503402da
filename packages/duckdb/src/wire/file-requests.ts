import type { GetPlan, PutPlan } from './column-plans.ts';
import type { DuckType } from './duck-type.ts';
import type { SqlFault } from './sql-fault.ts';
import type { SqlFailure, UnreadableFrame } from './sql-requests.ts';

/** A column of an upload. */
export interface PutColumn {
  /** As the file has it. */
  readonly name: string;
  /** As whoever sent it knows it, for errors. */
  readonly title: string;
  readonly plan: PutPlan;
}

/** What is to be written down in a file once all its rows are known. */
export interface FileNotes {
  /** Keys in the metadata of the file whose values are `NOTE_PLACEHOLDER`. */
  readonly rowsKey: string;
  readonly bytesKey: string;
}

/** How a file is written anew when a value comes that its options would change: the rows before it are read again. */
export interface WriteRestart {
  /** Where the rows before it go meanwhile. */
  readonly headPath: string;
  /** SQL for those rows. */
  readonly headSql: string;
  /** The options of COPY that change no value. */
  readonly options: string;
}

/** Stands in the metadata of a Parquet file for a number that is not known yet; of the same length. */
export const NOTE_PLACEHOLDER = '0'.repeat(20);

/** Writes the number that a `NOTE_PLACEHOLDER` stands for. */
export function noteText(value: number): string {
  return String(value).padStart(NOTE_PLACEHOLDER.length, '0');
}

/** Bytes of a file that are compared with their checksums before anything is read from them. */
export interface FileCheck {
  readonly path: string;
  /** Whether we wrote it, so that checksums that are missing are damage. */
  readonly isOwn?: true;
  /** The footer is always verified. */
  readonly part: 'footer' | 'all' | RowsPart;
}

/** The bytes of some rows and columns. */
export interface RowsPart {
  readonly from: number;
  readonly to: number;
  /** Positions of columns. Default: all. */
  readonly columns?: readonly number[];
}

/**
 * What the child is asked to do. All SQL is made by the parent. Files in `checks` are verified first, then the statements
 * in `setup` run.
 */
export type ChildRequest = { readonly checks?: readonly FileCheck[]; readonly setup?: readonly string[] } &
  /** Names and types of the columns of a query; it is not run. */
  (
    | { readonly op: 'inspect'; readonly sql: string }
    /** The rows of a query whose columns are all texts. */
    | { readonly op: 'texts'; readonly sql: string }
    /** How many values a Parquet file has. Asked of SQL, the statistics of all columns would have to have a text. */
    | { readonly op: 'values'; readonly path: string }
    /** `rowCheck`: where the rows come from, verified little by little, before they are sent. */
    | {
        readonly op: 'read';
        readonly sql: string;
        readonly plans: readonly GetPlan[];
        readonly rowCheck?: FileCheck & { readonly part: RowsPart };
      }
    /** Nothing but the checks. `again`: also of bytes that were verified before. */
    | { readonly op: 'verify'; readonly file: FileCheck; readonly again?: true }
    /** Writes the batches that follow into a Parquet file; `options` are those of COPY. */
    | {
        readonly op: 'write';
        readonly path: string;
        readonly options: string;
        readonly columns: readonly PutColumn[];
        readonly notes: FileNotes;
        readonly restart: WriteRestart;
      }
    /** Writes the rows of a query into a Parquet file; `measureSql` gives the bytes they take as Arrow, as a text. */
    | {
        readonly op: 'copy';
        readonly sql: string;
        readonly path: string;
        readonly options: string;
        readonly measureSql: string;
        readonly notes: FileNotes;
      }
  );

/** What the child is told when it is started, as JSON in its first argument. */
export interface ChildSettings {
  /** Statements that set DuckDB up. */
  readonly settings: readonly string[];
  /** Statements that set up the DuckDB that writes the batches of uploads, where there are any. */
  readonly uploadSettings?: readonly string[];
  /** Whether it answers SQL of clients (`SqlRequest`), and nothing else. */
  readonly isLocked?: true;
  /** Whether it inherits a file through which long batches go. */
  readonly hasBatchFile?: true;
  /** Where the system does not bound its memory, the child ends itself when it has more. */
  readonly maxRssBytes?: number;
}

/** Answers to the requests, by their `op`. */
export interface ChildResponses {
  readonly inspect: readonly { readonly name: string; readonly type: DuckType }[];
  readonly texts: readonly (readonly (string | null)[])[];
  readonly values: number;
  readonly read: { readonly rows: number };
  readonly verify: {
    /** Whether the file has checksums. */
    readonly isChecked: boolean;
  };
  readonly write: WrittenNumbers;
  readonly copy: WrittenNumbers;
}

/** What is known of a file that was written. */
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
  /** `damaged_file`: the bytes of a file are not those that were written. */
  | { readonly code: 'cancelled' | 'invalid_data' | 'damaged_file'; readonly message: string }
  /** The message is DuckDB's own, and not for clients. `isIntact`: the file it read is what was written. */
  | { readonly code: 'duckdb'; readonly message: string; readonly isIntact?: true };
