import { keepRequest, writtenFrame } from '@svc/client/internal';
import { signal } from '@preact/signals';
import { type Api, createApi } from '../src/api/api.ts';
import { askTable } from '../src/api/statements.ts';
import type { ChartSource, Field } from '../src/chart/chart-reader.ts';
import type { Ask } from '../src/chart/sql-reader.ts';
import type { MemoryRows } from '../src/rows/row-source.ts';
import { startProcess } from '../../server/test/server-process.ts';

/** A server with a frame, as the console sees both. */
export interface Engine {
  readonly api: Api;
  readonly ask: Ask;
  /** Keeps the answer of a statement as a frame. */
  frame(handle: string, sql: string): Promise<ChartSource>;
}

/** Starts a server; `onEnd` registers what ends it. */
export async function startEngine(onEnd: (end: () => Promise<void>) => void): Promise<Engine> {
  const server = await startProcess({ onEnd });
  const observer = { answered: () => {}, gone: () => {}, unauthenticated: () => {} };
  const api = createApi(new URL(`${server.url}/`), observer, fetch);
  return {
    api,
    ask: (sql) => askTable(api, sql, { engine: 'local' }),
    async frame(handle, sql) {
      const { columns } = await writtenFrame(await api.send(keepRequest(sql, { engine: 'local', handle })));
      return { columns, from: `"${handle}"`, engine: 'local' };
    },
  };
}

/** Returns the column of a source. */
export function fieldOf({ columns }: ChartSource, name: string): Field {
  const index = columns.findIndex((column) => column.name === name);
  return { index, ...columns[index] };
}

/** Reads all rows of a source into memory, as an answer has them. */
export async function rowsInMemory(source: ChartSource, ask: Ask): Promise<MemoryRows> {
  const names = source.columns.map(({ name }) => `"${name}"`);
  // JSON has null for NaN.
  const flags = source.columns.map(({ type }, i) => (/^(DOUBLE|FLOAT)$/.test(type) ? `isnan(${names[i]})` : 'false'));
  const { rows } = await ask(`select ${[...names, ...flags].join(', ')} from ${source.from}`);
  const texts = rows.map((row) =>
    source.columns.map((_, i) => {
      if (row[names.length + i] === true) return 'NaN';
      return row[i] === null ? null : textOf(row[i]);
    }),
  );
  return { rowCount: signal(texts.length), text: (row, column) => texts[row][column] };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
