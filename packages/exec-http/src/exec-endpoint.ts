import { encodeJsonTable, ENCODINGS } from '@svc/frames';
import type { FrameReading, Service } from '@svc/service';
import type { Answer } from './answer.ts';
import { type Exchange, type Handlers, methodNotAllowed } from './endpoint.ts';
import { matchingEtag } from './etag.ts';
import { checkMaxRows, type ExecRequest, type ExecRules, parseExecRequest } from './exec-request.ts';
import { type Params, parseQueryString } from './query-string.ts';
import { sqlParams } from './sql-body.ts';

/** `/exec`: reads a frame, or forwards SQL. */
export function execHandlers(service: Service, rules: ExecRules): Handlers {
  async function answer(exchange: Exchange, params: Params): Promise<Answer> {
    const request = parseExecRequest(params, rules);
    if (request.kind === 'handle') return readFrame(service, exchange, request, rules);
    return { forwarded: await service.forward(exchange.call, { path: '/exec', params: request.params }) };
  }
  return {
    GET: (exchange) => {
      const params = parseQueryString(exchange.c.req.url);
      if (exchange.c.req.method === 'HEAD' && params.some(([name]) => name === 'query')) {
        return methodNotAllowed('HEAD does not run SQL.', ['GET', 'POST']);
      }
      return answer(exchange, params);
    },
    POST: async (exchange) => {
      const params = parseQueryString(exchange.c.req.url);
      return answer(exchange, [...params, ...(await sqlParams(exchange.c.req.raw))]);
    },
  };
}

async function readFrame(
  service: Service,
  { c, call }: Exchange,
  request: ExecRequest & { kind: 'handle' },
  rules: ExecRules,
): Promise<Answer> {
  const startNs = process.hrtime.bigint();
  const reading = await service.readFrame(call, request.handle, {
    ...request.rows,
    ...(request.columns && { columns: request.columns }),
  });
  const openedNs = process.hrtime.bigint();
  const { version, rows } = reading.info;
  try {
    if (request.rows.limit === undefined) checkMaxRows(rows - request.rows.offset, rules.maxRows);
    const headers = { 'content-type': ENCODINGS.json.contentType, 'x-total-count': String(rows) };
    const etag = request.timings ? undefined : matchingEtag(c.req.header('if-none-match'), version);
    if (etag !== undefined) {
      reading.close();
      return { status: 304, headers: { ...headers, etag } };
    }
    const timings = () => ({ open: Number(openedNs - startNs), encode: Number(process.hrtime.bigint() - openedNs) });
    const chunks = encodeJsonTable(reading.stream, {
      query: `handle:${request.handle}`,
      quoteLargeNum: request.quoteLargeNum,
      ...(request.timings && { timings }),
    });
    return { headers, body: closing(chunks, reading), ...(!request.timings && { version }) };
  } catch (error) {
    reading.close();
    throw error;
  }
}

async function* closing(chunks: AsyncIterable<Uint8Array>, reading: FrameReading): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } finally {
    reading.close();
  }
}
