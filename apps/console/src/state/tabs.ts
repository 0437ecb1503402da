import type { EngineName } from '../api/types.ts';

/** The views of a tab. A query has no `info`, a frame no `plan`. */
export type View = 'rows' | 'chart' | 'summary' | 'plan' | 'info';

/** What a tab shows, as it is kept over a reload and shared by a link. Answers are not part of it. */
export type Tab = QueryTab | FrameTab;

export interface QueryTab {
  readonly kind: 'query';
  readonly id: string;
  readonly title: string;
  readonly sql: string;
  readonly engine: EngineName;
  readonly view: Exclude<View, 'info'>;
  readonly chart?: ChartChoice;
}

export interface FrameTab {
  readonly kind: 'frame';
  readonly id: string;
  readonly handle: string;
  readonly view: Exclude<View, 'plan'>;
  readonly chart?: ChartChoice;
}

/** How many rows become one number. */
export type Aggregate = 'sum' | 'mean' | 'min' | 'max';

/** What a chart draws. */
export interface ChartChoice {
  readonly kind: 'line' | 'bar' | 'histogram' | 'ohlc';
  /** The column of the x axis. A histogram has none. */
  readonly x?: string;
  /** The columns that are drawn; for `ohlc` open, high, low and close, or one column that is all of them. */
  readonly y: readonly string[];
  /** The column whose values split a line into several. */
  readonly by?: string;
  /** How the rows of a bar become one number. Default: `sum`. Bars without `y` count rows. */
  readonly aggregate?: Aggregate;
}
