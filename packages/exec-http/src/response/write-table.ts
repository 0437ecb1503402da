import { ServiceError } from '@svc/errors';
import {
  type Call,
  encodeArrowStream,
  encodeCsv,
  encodeJsonTable,
  encodeNdjson,
  ENCODINGS,
  type FrameStream,
  type ResultFormat,
} from '@svc/frames';
import type { QueryTiming, Service } from '@svc/service';
import type { TableRequest } from '../request/exec-request.ts';

/** A table to encode. */
export interface Table {
  readonly stream: FrameStream;
  /** The `query` field of a JSON table. */
  readonly query: string;
  /** Returns the timings, if requested. */
  readonly timings: () => Readonly<Record<string, number>>;
  /** Returns the `count` of a JSON table, when all rows are encoded. Default: the rows in it. */
  readonly count?: (() => number) | undefined;
  /** Called with the length of each chunk. Default: nothing. */
  readonly onBytes?: (bytes: number) => void;
  /** Releases the source of the rows. `error`: why not all of them are encoded. */
  close(error?: unknown): void;
}

/** Returns the headers of a table; an export has a file name. */
export function tableHeaders(
  name: string,
  { format, hasMetadata }: Pick<TableRequest, 'format' | 'hasMetadata'>,
): Readonly<Record<string, string>> {
  const { contentType: usual, extension } = ENCODINGS[format].out;
  const contentType = hasMetadata ? usual : usual.replace('header=present', 'header=absent');
  if (format === 'json') return { 'content-type': contentType };
  return { 'content-type': contentType, 'content-disposition': `attachment; filename="${name}.${extension}"` };
}

/**
 * Whether chunks in this format, and the batches they are made of, can share buffers: each is then valid until the next
 * `next()`. The Parquet encoder sends its batches to another process, which may still read them after that.
 */
export function canReuseBuffers(format: ResultFormat): boolean {
  return format !== 'parquet';
}

/** Encodes a table in the requested format, and closes it at the end. */
export async function* writeTable(
  service: Service,
  call: Call,
  table: Table,
  request: TableRequest,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of encoded(service, call, table, request)) {
      table.onBytes?.(chunk.byteLength);
      yield chunk;
    }
  } catch (error) {
    table.close(error);
    throw error;
  } finally {
    table.close();
  }
}

function encoded(
  { encodeParquet }: Service,
  { signal }: Call,
  { stream, query, count, timings }: Table,
  { format, quoteLargeNum, hasMetadata, timings: isTimed }: TableRequest,
): AsyncIterable<Uint8Array> {
  const reuseBuffers = canReuseBuffers(format);
  switch (format) {
    case 'json':
      return encodeJsonTable(stream, {
        query,
        quoteLargeNum,
        reuseBuffers,
        metadata: hasMetadata,
        ...(count && { count }),
        ...(isTimed && { timings }),
      });
    case 'ndjson':
      return encodeNdjson(stream, { quoteLargeNum, reuseBuffers });
    case 'csv':
      return encodeCsv(stream, { reuseBuffers, header: hasMetadata });
    case 'arrow':
      return encodeArrowStream(stream, { reuseBuffers });
    case 'parquet':
      if (encodeParquet !== undefined) return encodeParquet(stream, signal);
      throw new ServiceError('invalid_argument', 'This server does not write Parquet files.');
    default:
      return format satisfies never;
  }
}

/** Returns the header with how long a statement waited and ran until its first rows. Browsers show it. */
export function serverTiming({ waitMs, executeMs }: QueryTiming): { readonly 'server-timing': string } {
  return { 'server-timing': `queue;dur=${waitMs.toFixed(3)}, execute;dur=${executeMs.toFixed(3)}` };
}
