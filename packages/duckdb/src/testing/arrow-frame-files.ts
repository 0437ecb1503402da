import { open, readFile, unlink } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { encodeArrowStream, type FrameStream, streamFromTable } from '@svc/frames';
import { underSchema } from '@svc/frames/columns';
import { Int64, type RecordBatch, Schema, Table, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import type { FrameFiles, FrameSource, ReadPart, SourceInfo, WrittenFile } from '../files/frame-files.ts';

/** The calls that the files received, for assertions. */
export interface ArrowFrameFiles extends FrameFiles {
  readonly reads: { readonly path: string; readonly limit: number | undefined }[];
  readonly described: string[];
}

/** `FrameFiles` that stores frames as Arrow bytes, without DuckDB and without a child. File names do not matter. */
export function createArrowFrameFiles({ batchRows = 1000 }: { readonly batchRows?: number } = {}): ArrowFrameFiles {
  const reads: { path: string; limit: number | undefined }[] = [];
  const described: string[] = [];

  async function write(path: string, source: FrameStream): Promise<WrittenFile> {
    const file = await open(path, 'wx');
    let rows = 0;
    const counted = async function* (): AsyncGenerator<RecordBatch> {
      for await (const batch of source.batches) {
        rows += batch.numRows;
        yield batch;
      }
    };
    try {
      for await (const bytes of encodeArrowStream({ schema: source.schema, batches: counted() }))
        await file.write(bytes);
      await file.sync();
      const { size } = await file.stat();
      return { schema: source.schema, rows, arrowBytes: size, fileBytes: size };
    } catch (error) {
      await unlink(path);
      throw error;
    } finally {
      await file.close();
    }
  }

  return {
    reads,
    described,
    write,
    convert: async (from, path) => write(path, streamFromTable(await load(from))),
    async merge(from, { schema }, path) {
      async function* batches(): AsyncGenerator<RecordBatch> {
        for (const batch of (await load(from)).batches) yield underSchema(schema, batch);
      }
      return write(path, { schema, batches: batches() });
    },
    describe(sources) {
      described.push(...sources.map(({ path }) => path));
      return Promise.all(
        sources.map((source) =>
          infoOf(source).catch((cause: unknown) =>
            cause instanceof Error ? cause : new Error('It failed.', { cause }),
          ),
        ),
      );
    },
    read(source, info, part = {}) {
      reads.push({ path: source.kind === 'parts' ? (source.parts[0]?.path ?? '') : source.path, limit: part.limit });
      return readTable({ table: () => load(source), schema: info.schema, batchRows }, part);
    },
    async decode(source, info, { onSize }) {
      const table = await load(source);
      const bytes = tableToIPC(table).length;
      await onSize(bytes);
      const read = { table: async () => table, schema: info.schema, batchRows };
      return { bytes, read: (part = {}) => readTable(read, part), close: async () => {} };
    },
    verify: async () => ({ isChecked: false }),
    tables: async (path) => Object.keys(await loadTables(path)),
    isResponding: () => true,
    close: async () => {},
  };
}

/** How a table is read. */
interface TableRead {
  readonly table: () => Promise<Table>;
  readonly schema: Schema;
  readonly batchRows: number;
}

function readTable({ table, schema: all, batchRows }: TableRead, part: ReadPart): FrameStream {
  const { offset = 0, limit = Infinity, columns, signal } = part;
  const schema = columns ? new Schema(columns.flatMap((at) => all.fields[at] ?? [])) : all;
  async function* batches(): AsyncGenerator<RecordBatch> {
    const rows = await table();
    const end = Math.min(rows.numRows, offset + limit);
    for (let at = offset; at < end; at += batchRows) {
      signal?.throwIfAborted();
      const some = rows.slice(at, Math.min(at + batchRows, end));
      for (const batch of (columns ? some.selectAt([...columns]) : some).batches) yield underSchema(schema, batch);
    }
  }
  return { schema, batches: batches() };
}

async function infoOf(source: FrameSource): Promise<SourceInfo> {
  const { schema, numRows: rows } = await load(source);
  return { schema, rows };
}

async function load(source: FrameSource): Promise<Table> {
  if (source.kind === 'parts') {
    const tables = await Promise.all(source.parts.map(({ path }) => load({ kind: 'parquet', path })));
    const [{ schema } = new Table(), ...others] = tables;
    // The tables differ in nullability only, which `concat` would refuse.
    const batches = others.flatMap((table) => table.batches.map((batch) => underSchema(schema, batch)));
    return new Table(schema, [...(tables[0]?.batches ?? []), ...batches]);
  }
  const bytes = await readFile(source.path);
  if (source.kind === 'parquet') {
    try {
      return tableFromIPC(bytes);
    } catch (cause) {
      throw new ServiceError('invalid_data', 'The file is not an Arrow file.', { cause });
    }
  }
  if (source.kind === 'table') return longTable({ id: (await loadTables(source.path))[source.table] ?? [] });
  return loadCsv(bytes.toString());
}

/** A database is a JSON object with the integers of each table. */
async function loadTables(path: string): Promise<Readonly<Record<string, readonly number[]>>> {
  const tables: Readonly<Record<string, readonly number[]>> = JSON.parse(await readFile(path, 'utf8'));
  return tables;
}

/** Integers with a header line. */
function loadCsv(text: string): Table {
  const [names = [], ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  const columns = names.map((name, at) => {
    const values = lines.map((line, row) => {
      if (line[at] !== undefined && /^-?\d+$/.test(line[at])) return Number(line[at]);
      throw new ServiceError('invalid_data', `Line ${row + 2}, column "${name}": "${line[at]}" is not a number.`);
    });
    return [name, values] as const;
  });
  return longTable(Object.fromEntries(columns));
}

function longTable(columns: Readonly<Record<string, readonly number[]>>): Table {
  return new Table(
    Object.fromEntries(
      Object.entries(columns).map(([name, values]) => [name, vectorFromArray(values.map(BigInt), new Int64())]),
    ),
  );
}
