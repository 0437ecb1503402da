import type { Schema } from 'apache-arrow';
import { createFrameBudget } from '../src/decode/limits.ts';
import { fitLines } from '../src/decode/lines/fit-lines.ts';
import { createLineDecoder } from '../src/decode/lines/line-decoder.ts';
import type { LineTable } from '../src/decode/lines/line-table.ts';
import type { LinePrecision } from '../src/decode/lines/line-tokens.ts';
import { encodeJsonTable } from '../src/encode/row-formats.ts';

/** The time of lines without one. */
export const NOW = '2024-01-02T03:04:05.000000006Z';
const NOW_NS = BigInt(Date.parse('2024-01-02T03:04:05Z')) * 1_000_000n + 6n;

/** How `decodeLines` reads its lines. */
export interface DecodeLinesOptions {
  readonly precision?: LinePrecision;
  readonly maxBytes?: number;
  /** How many bytes are read at a time. Default 64 KiB. */
  readonly stepBytes?: number;
}

/** Decodes line protocol. */
export function decodeLines(text: string | Uint8Array, options: DecodeLinesOptions = {}): readonly LineTable[] {
  const { precision, maxBytes = 64 * 1024 ** 2, stepBytes } = options;
  const decoder = createLineDecoder({ precision, nowNs: NOW_NS, budget: createFrameBudget(maxBytes), stepBytes });
  decoder.write(Buffer.from(text));
  return decoder.end();
}

/** The columns of a table with their types, and its rows as JSON has them. Whole numbers beyond doubles are texts. */
export async function cellsOf(table: LineTable | undefined, frame?: Schema) {
  if (table === undefined) throw new Error('There is no table.');
  const chunks: Uint8Array[] = [];
  const stream = await fitLines(table, frame, () => undefined);
  const names = new Set(stream.schema.fields.map(({ name }) => name));
  for await (const chunk of encodeJsonTable(stream, { query: '' })) chunks.push(Uint8Array.from(chunk));
  const json = Buffer.concat(chunks)
    .toString()
    .replaceAll(/(?<=[[,])-?\d{16,}(?=[\],])/g, '"$&"');
  const { columns, dataset } = JSON.parse(json) as {
    columns: readonly { name: string; type: string }[];
    dataset: readonly (readonly unknown[])[];
  };
  const wanted = frame?.fields.map(({ name }) => name) ?? [...names];
  const rows = dataset.map((row) =>
    wanted.map((name) => row[columns.findIndex((column) => column.name === name)] ?? null),
  );
  return { columns: Object.fromEntries(columns.map(({ name, type }) => [name, type])), rows };
}
