import type { Column } from './json/table-types.ts';

/** The metadata of a frame. */
export interface FrameInfo {
  readonly handle: string;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: readonly (Column & { readonly nullable: boolean })[];
  /** When this version was put. */
  readonly created: string;
  /** Changes with every put and append. */
  readonly version: string;
  /** When the frame expires; null: never. */
  readonly expires: string | null;
  /** Where reads find it. */
  readonly tier: 'memory' | 'disk';
}

/** A frame in a list. Its rows and columns are null if the server has not read its file yet; `describe` reads it. */
export type ListedFrame = Omit<FrameInfo, 'columns' | 'rows'> &
  (Pick<FrameInfo, 'columns' | 'rows'> | { readonly columns: null; readonly rows: null });

/** The metadata of a frame that was written. */
export interface WrittenFrame extends FrameInfo {
  /** Whether the frame is new, or replaced or extended one. */
  readonly isNew: boolean;
}

/** Where SQL runs. */
export type EngineName = 'local' | 'tsdb' | 'scheduler';

/** SQL that waits, runs or is being answered. */
export interface RunningQuery {
  /** The id of its request. */
  readonly id: string;
  readonly engine: EngineName;
  readonly state: 'queued' | 'running' | 'sending';
  readonly elapsedMs: number;
  /** While it is queued: its place, from 1. */
  readonly queuePosition?: number;
  /** From 0 to 1, an estimate; null if it is unknown. */
  readonly progress: number | null;
  readonly rowsProcessed?: number;
  readonly rowsTotal?: number;
  /** Rows and bytes of the result that were sent. */
  readonly rows: number;
  readonly bytes: number;
}

/** What a server can do. */
export interface ServerInfo {
  readonly version: string;
  readonly engines: readonly EngineName[];
  /** The engine of SQL that names none. */
  readonly defaultEngine: EngineName;
  readonly formats: {
    readonly in: readonly string[];
    readonly out: readonly string[];
    readonly files: readonly string[];
  };
  readonly limits: {
    /** Rows of one response; null: no limit. */
    readonly maxRows: number | null;
    readonly maxUploadBytes: number;
    readonly sqlTimeoutMs: number;
  };
  readonly authentication: { readonly isRequired: boolean; readonly kinds?: readonly string[] };
  /** Who sent the request, if the server knows its callers. */
  readonly caller?: { readonly tenant: string; readonly permissions: readonly string[] };
}
