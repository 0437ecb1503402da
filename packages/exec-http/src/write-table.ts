import { ServiceError } from '@svc/errors';
import {
  type Call,
  encodeArrowStream,
  encodeCsv,
  encodeJsonTable,
  encodeNdjson,
  ENCODINGS,
  type FrameStream,
} from '@svc/frames';
import type { Service } from '@svc/service';
import type { TableRequest } from './exec-request.ts';

/** A table on its way out. */
export interface Table {
  readonly stream: FrameStream;
  /** What a JSON table says it is the answer to. */
  readonly query: string;
  /** The name of a file to save it in, without what says its format. */
  readonly name: string;
  /** What is said about how long it took, where that was asked for. */
  readonly timings: () => Readonly<Record<string, number>>;
  /** Lets go of where the rows come from. */
  close(): void;
}

/** The headers and the body of an answer that has rows. */
export interface WrittenTable {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncGenerator<Uint8Array, void>;
  /** Whether the body is compressed in itself. */
  readonly isPacked: boolean;
}

/** Writes a table in the format that was asked for. An export comes with the name of a file to save it in. */
export function writeTable(service: Service, call: Call, table: Table, request: TableRequest): WrittenTable {
  const { format } = request;
  const { contentType, extension } = ENCODINGS[format].out;
  const fileName = format !== 'json' && { 'content-disposition': `attachment; filename="${table.name}.${extension}"` };
  return {
    headers: { 'content-type': contentType, ...fileName },
    body: closing(table, () => encoded(service, call, table, request)),
    isPacked: format === 'parquet',
  };
}

function encoded(
  { encodeParquet }: Service,
  { signal }: Call,
  { stream, query, timings }: Table,
  { format, quoteLargeNum, timings: isTimed }: TableRequest,
): AsyncIterable<Uint8Array> {
  switch (format) {
    case 'json':
      return encodeJsonTable(stream, { query, quoteLargeNum, ...(isTimed && { timings }) });
    case 'ndjson':
      return encodeNdjson(stream, { quoteLargeNum });
    case 'csv':
      return encodeCsv(stream);
    case 'arrow':
      return encodeArrowStream(stream);
    case 'parquet':
      if (encodeParquet !== undefined) return encodeParquet(stream, signal);
      throw new ServiceError('invalid_argument', 'This server does not write Parquet files.');
    default:
      return format satisfies never;
  }
}

async function* closing(table: Table, encode: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* encode();
  } finally {
    table.close();
  }
}
