import { ServiceError } from '@svc/errors';
import { encodeJsonTable, ENCODINGS } from '@svc/frames';
import type { FrameReading, Service } from '@svc/service';
import { acceptsGzip, compressBytes, compressChunks, COMPRESSED_FROM_BYTES } from './compress.ts';
import type { Answer, Exchange, Handlers } from './endpoint.ts';
import { etagOf, namesVersion } from './etag.ts';
import { checkMaxRows, type ExecRequest, type ExecRules, parseExecRequest } from './exec-request.ts';
import { parseQueryString } from './query-string.ts';
import { streamedBody } from './streamed-body.ts';

/** What the operator decides about `/exec`. */
export interface ExecOptions extends Omit<ExecRules, 'hasTsdb'> {
  /** Whether answers are compressed for clients that accept it. */
  readonly compression: boolean;
}

/** `GET /exec`: reads a frame, or forwards SQL. */
export function execHandlers(service: Service, options: ExecOptions): Handlers {
  const rules: ExecRules = { ...options, hasTsdb: service.hasTsdb };
  return {
    GET: async (exchange) => {
      const request = parseExecRequest(parseQueryString(exchange.c.req.url), rules);
      if (request.kind === 'query') return forward(service, exchange, request);
      return readFrame(service, exchange, request, options);
    },
  };
}

async function forward(
  service: Service,
  exchange: Exchange,
  request: ExecRequest & { kind: 'query' },
): Promise<Answer> {
  if (exchange.c.req.method === 'HEAD') {
    throw new ServiceError('method_not_allowed', 'HEAD does not run SQL.', { hint: 'Send the query with GET.' });
  }
  const { status, headers, body } = await service.forward(exchange.call, { path: '/exec', params: request.params });
  if (body === null) return { response: new Response(null, { status, headers }) };
  const stream = streamedBody(body[Symbol.asyncIterator](), status, exchange);
  return { response: new Response(stream, { status, headers }), isStreaming: true };
}

async function readFrame(
  service: Service,
  exchange: Exchange,
  request: ExecRequest & { kind: 'handle' },
  options: ExecOptions,
): Promise<Answer> {
  const startNs = process.hrtime.bigint();
  const { c, call } = exchange;
  const columns = request.columns && { columns: request.columns };
  const reading = await service.readFrame(call, request.handle, { ...request.rows, ...columns });
  const openedNs = process.hrtime.bigint();
  try {
    if (request.rows.limit === undefined) checkMaxRows(reading.info.rows - request.rows.offset, options.maxRows);
    const isCompressed = options.compression && acceptsGzip(c.req.header('accept-encoding'));
    const headers = new Headers({
      'content-type': ENCODINGS.json.contentType,
      'x-total-count': String(reading.info.rows),
      ...(options.compression && { vary: 'accept-encoding' }),
      ...(!request.timings && { etag: etagOf(reading.info.version, isCompressed) }),
    });
    if (!request.timings && namesVersion(c.req.header('if-none-match'), reading.info.version)) {
      reading.close();
      return { response: new Response(null, { status: 304, headers }) };
    }
    if (c.req.method === 'HEAD') {
      reading.close();
      return { response: new Response(null, { headers }) };
    }
    const timings = () => ({ open: Number(openedNs - startNs), encode: Number(process.hrtime.bigint() - openedNs) });
    const chunks = encodeJsonTable(reading.stream, {
      query: `handle:${request.handle}`,
      quoteLargeNum: request.quoteLargeNum,
      ...(request.timings && { timings }),
    });
    return await answerWith(closing(chunks, reading), headers, isCompressed, exchange);
  } catch (error) {
    reading.close();
    throw error;
  }
}

/** Sends a short answer whole, with its length, and a long one as it is made. */
async function answerWith(
  chunks: AsyncGenerator<Uint8Array, void>,
  headers: Headers,
  isCompressed: boolean,
  exchange: Exchange,
): Promise<Answer> {
  const first = await chunks.next();
  const second = await chunks.next();
  if (first.done === true) throw new Error('The encoder wrote nothing.');
  if (second.done === true) {
    const bytes = first.value;
    if (!isCompressed || bytes.length < COMPRESSED_FROM_BYTES) return { response: new Response(bytes, { headers }) };
    headers.set('content-encoding', 'gzip');
    return { response: new Response(await compressBytes(bytes), { headers }) };
  }
  const all = startingWith([first.value, second.value], chunks);
  if (isCompressed) headers.set('content-encoding', 'gzip');
  const body = streamedBody(isCompressed ? compressChunks(all) : all, 200, exchange);
  return { response: new Response(body, { headers }), isStreaming: true };
}

async function* startingWith<T>(head: readonly T[], rest: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  try {
    yield* head;
    yield* rest;
  } finally {
    // A reader that leaves during the head has not begun the rest, which then would not end by itself.
    await rest.return();
  }
}

async function* closing(chunks: AsyncIterable<Uint8Array>, reading: FrameReading): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } finally {
    reading.close();
  }
}
