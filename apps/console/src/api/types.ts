/** A column of a frame or of an answer, with the server's name of its type: `LONG`, `DECIMAL(10,2)`, `TIMESTAMP`. */
export interface ColumnInfo {
  readonly name: string;
  readonly type: string;
}

/** A frame, as `GET /frames` lists it. */
export interface FrameInfo {
  readonly handle: string;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: readonly ColumnInfo[];
  readonly created: string;
  readonly version: string;
  readonly expires: string | null;
  readonly tier: 'memory' | 'disk';
}

/** Where SQL runs. */
export type EngineName = 'local' | 'tsdb' | 'scheduler';

/** What the server can do: `GET /info`. */
export interface ServerInfo {
  readonly version: string;
  readonly engines: readonly EngineName[];
  readonly defaultEngine: EngineName;
  readonly formats: {
    readonly in: readonly string[];
    readonly out: readonly string[];
    readonly files: readonly string[];
  };
  readonly limits: {
    readonly maxRows: number | null;
    readonly maxUploadBytes: number;
    readonly sqlTimeoutMs: number;
  };
  readonly authentication: { readonly isRequired: boolean; readonly kinds?: readonly string[] };
  /** What the server wants of its console. */
  readonly console?: { readonly keepsHistory: boolean };
  /** Who sent the request, if the server knows its callers. */
  readonly caller?: { readonly tenant: string; readonly permissions: readonly string[] };
}
