import type { Column, ServerInfo as Info } from '@svc/client/internal';

export type { EngineName, FrameInfo, ListedFrame } from '@svc/client/internal';

/** A column of a frame or of an answer, with the server's name of its type: `LONG`, `DECIMAL(10,2)`, `TIMESTAMP`. */
export type ColumnInfo = Column;

/** What the server can do: `GET /info`. */
export interface ServerInfo extends Info {
  /** What the server wants of its console. */
  readonly console?: { readonly keepsHistory: boolean };
}
