import {
  encodeArrowStream,
  encodeCsv,
  encodeJsonTable,
  encodeNdjson,
  ENCODINGS,
  type AnswerFormat,
  type FrameStream,
} from '@svc/frames';
import type { FrameReading, Service } from '@svc/service';
import type { Answer } from './answer.ts';
import type { Exchange } from './endpoint.ts';
import { matchingEtag } from './etag.ts';
import { checkMaxRows, type HandleRequest } from './exec-request.ts';

/** Answers with the rows of a frame. */
export async function readFrame(
  service: Service,
  { c, call }: Exchange,
  request: HandleRequest,
  maxRows: number | undefined,
): Promise<Answer> {
  const startNs = process.hrtime.bigint();
  const reading = await service.readFrame(call, request.handle, {
    ...request.rows,
    ...(request.columns && { columns: request.columns }),
  });
  const openedNs = process.hrtime.bigint();
  const { version, rows } = reading.info;
  try {
    if (request.rows.limit === undefined) checkMaxRows(rows - request.rows.offset, maxRows);
    const headers = { ...headersOf(request), 'x-total-count': String(rows) };
    const etag = request.timings ? undefined : matchingEtag(c.req.header('if-none-match'), version);
    if (etag !== undefined) {
      reading.close();
      return { status: 304, headers: { ...headers, etag } };
    }
    const timings = () => ({ open: Number(openedNs - startNs), encode: Number(process.hrtime.bigint() - openedNs) });
    const chunks = ENCODERS[request.format](reading.stream, request, timings);
    return { headers, body: closing(chunks, reading), ...(!request.timings && { version }) };
  } catch (error) {
    reading.close();
    throw error;
  }
}

/** An export comes with the name of a file to save it in. */
function headersOf({ format, handle }: HandleRequest): Readonly<Record<string, string>> {
  const { contentType, extension } = ENCODINGS[format].out;
  const fileName = format !== 'json' && { 'content-disposition': `attachment; filename="${handle}.${extension}"` };
  return { 'content-type': contentType, ...fileName };
}

const ENCODERS: Record<
  AnswerFormat,
  (
    stream: FrameStream,
    request: HandleRequest,
    timings: () => Readonly<Record<string, number>>,
  ) => AsyncIterable<Uint8Array>
> = {
  json: (stream, { handle, quoteLargeNum, timings: isTimed }, timings) =>
    encodeJsonTable(stream, { query: `handle:${handle}`, quoteLargeNum, ...(isTimed && { timings }) }),
  ndjson: (stream, { quoteLargeNum }) => encodeNdjson(stream, { quoteLargeNum }),
  csv: (stream) => encodeCsv(stream),
  arrow: (stream) => encodeArrowStream(stream),
};

async function* closing(chunks: AsyncIterable<Uint8Array>, reading: FrameReading): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } finally {
    reading.close();
  }
}
