import type { EngineName } from '../api/types.ts';
import { visibleText } from '../rows/visible-text.ts';
import type { Aggregate, ChartChoice, FrameTab, QueryTab, Tab } from './tabs.ts';

export const ENGINES: readonly EngineName[] = ['local', 'tsdb', 'scheduler'];
const QUERY_VIEWS: readonly QueryTab['view'][] = ['rows', 'chart', 'summary', 'plan'];
const FRAME_VIEWS: readonly FrameTab['view'][] = ['rows', 'chart', 'summary', 'info'];
const AGGREGATES: readonly Aggregate[] = ['sum', 'mean', 'min', 'max'];
const CHART_KINDS: readonly ChartChoice['kind'][] = ['line', 'bar', 'histogram', 'ohlc'];

/** The names that frames have. */
export const HANDLE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The most characters of SQL that a tab keeps. */
export const MAX_SQL_LENGTH = 1_000_000;

/** Returns the tab in a value of a link or of the browser's storage; undefined if there is none. Its id is the value's. */
export function parseTab(value: unknown): Tab | undefined {
  const fields = objectFrom(value);
  const { id } = fields;
  if (typeof id !== 'string' || id === '') return undefined;
  const chart = parseChart(fields['chart']);
  const common = { id, ...(chart && { chart }) };
  if (fields['kind'] === 'frame' && isText(fields['handle'], 128) && HANDLE.test(fields['handle'])) {
    return { ...common, kind: 'frame', handle: fields['handle'], view: oneOf(FRAME_VIEWS, fields['view']) ?? 'rows' };
  }
  const engine = oneOf(ENGINES, fields['engine']);
  if (fields['kind'] !== 'query' || engine === undefined || !isText(fields['sql'], MAX_SQL_LENGTH)) return undefined;
  const title = isText(fields['title'], 100) ? visibleText(fields['title']) : 'query';
  return {
    ...common,
    kind: 'query',
    title,
    sql: fields['sql'],
    engine,
    view: oneOf(QUERY_VIEWS, fields['view']) ?? 'rows',
  };
}

function parseChart(value: unknown): ChartChoice | undefined {
  const { kind: given, x, y, by, aggregate: wanted } = objectFrom(value);
  const aggregate = oneOf(AGGREGATES, wanted);
  const kind = oneOf(CHART_KINDS, given);
  if (kind === undefined || !Array.isArray(y) || y.length > 100 || !y.every((name) => typeof name === 'string')) {
    return undefined;
  }
  return {
    kind,
    y,
    ...(typeof x === 'string' && { x }),
    ...(typeof by === 'string' && { by }),
    ...(aggregate && { aggregate }),
  };
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength;
}

/** Returns the name that a value is; undefined if it is none of them. */
export function oneOf<T extends string>(names: readonly T[], value: unknown): T | undefined {
  return names.find((name) => name === value);
}

/** Returns the fields of an object; none if the value is something else. */
export function objectFrom(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
