import type { Service } from '@svc/service';
import type { Answer } from './answer.ts';
import type { Exchange } from './endpoint.ts';
import { matchingEtag } from './etag.ts';
import { checkMaxRows, type HandleRequest } from './exec-request.ts';
import { writeTable } from './write-table.ts';

/** Answers with the rows of a frame. */
export async function readFrame(
  service: Service,
  { c, call }: Exchange,
  request: HandleRequest,
  maxRows: number | undefined,
): Promise<Answer> {
  const { handle } = request;
  const startNs = process.hrtime.bigint();
  const reading = await service.readFrame(call, handle, {
    ...request.rows,
    ...(request.columns && { columns: request.columns }),
  });
  const openedNs = process.hrtime.bigint();
  const { version, rows } = reading.info;
  const close = (): void => reading.close();
  try {
    if (request.rows.limit === undefined) checkMaxRows(rows - request.rows.offset, maxRows);
    const timings = () => ({ open: Number(openedNs - startNs), encode: Number(process.hrtime.bigint() - openedNs) });
    const query = `handle:${handle}`;
    const table = { stream: reading.stream, query, name: handle, timings, close };
    const { headers, ...written } = writeTable(service, call, table, request);
    const counted = { ...headers, 'x-total-count': String(rows) };
    const etag = request.timings ? undefined : matchingEtag(c.req.header('if-none-match'), version);
    if (etag !== undefined) {
      close();
      return { status: 304, headers: { ...counted, etag } };
    }
    // A Parquet file is made whole before its first byte: too much for an answer without a body.
    if (written.isPacked && c.req.method === 'HEAD') {
      close();
      return { headers: counted, version };
    }
    return { headers: counted, ...written, ...(!request.timings && { version }) };
  } catch (error) {
    close();
    throw error;
  }
}
