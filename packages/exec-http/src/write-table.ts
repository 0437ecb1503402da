import {
  encodeArrowStream,
  encodeCsv,
  encodeJsonTable,
  encodeNdjson,
  ENCODINGS,
  type AnswerFormat,
  type FrameStream,
} from '@svc/frames';
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
}

/** Writes a table in the format that was asked for. An export comes with the name of a file to save it in. */
export function writeTable(table: Table, request: TableRequest): WrittenTable {
  const { format } = request;
  const { contentType, extension } = ENCODINGS[format].out;
  const fileName = format !== 'json' && { 'content-disposition': `attachment; filename="${table.name}.${extension}"` };
  return {
    headers: { 'content-type': contentType, ...fileName },
    body: closing(ENCODERS[format](table, request), table),
  };
}

const ENCODERS: Record<AnswerFormat, (table: Table, request: TableRequest) => AsyncIterable<Uint8Array>> = {
  json: ({ stream, query, timings }, { quoteLargeNum, timings: isTimed }) =>
    encodeJsonTable(stream, { query, quoteLargeNum, ...(isTimed && { timings }) }),
  ndjson: ({ stream }, { quoteLargeNum }) => encodeNdjson(stream, { quoteLargeNum }),
  csv: ({ stream }) => encodeCsv(stream),
  arrow: ({ stream }) => encodeArrowStream(stream),
};

async function* closing(chunks: AsyncIterable<Uint8Array>, table: Table): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } finally {
    table.close();
  }
}
