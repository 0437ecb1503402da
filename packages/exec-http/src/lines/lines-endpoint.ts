import { nearestName, ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { decompressBody, type LinePrecision } from '@svc/frames';
import { isLinePrecision, LINE_PRECISIONS, LineError } from '@svc/frames/internal';
import type { Service } from '@svc/service';
import type { EndpointResponse } from '../endpoint-response.ts';
import type { HandlersOf } from '../endpoint.ts';
import { mapGiven, parseQueryString, single } from '../query-string.ts';
import { openBody } from '../request-body.ts';
import type { RequestContext } from '../request-context.ts';
import { parseContentEncoding } from '../upload/content-encoding.ts';

/** Handles `/write`: appends the lines in the body to frames. */
export function lineHandlers(service: Service): HandlersOf<'POST'> {
  return {
    POST: async (context) => {
      try {
        return await writeLines(service, context);
      } catch (thrown) {
        if (context.call.isCancelled && !(thrown instanceof ServiceError)) throw thrown;
        return refusedLines(toServiceError(thrown), context);
      }
    },
  };
}

async function writeLines(service: Service, context: RequestContext): Promise<EndpointResponse> {
  const { c, call } = context;
  const { maxLinesBytes: maxBytes } = service;
  const precision = mapGiven(single(parseQueryString(c.req.url), 'precision'), parsePrecision);
  const coding = parseContentEncoding(c.req.header('content-encoding'));
  const received = openBody(context);
  const body = coding === undefined ? received : decompressBody(received, coding, { maxBytes });
  const bytes = Number(c.req.header('content-length') ?? 0);
  context.rows = await service.writeLines(call, { body, precision, bytes });
  return { status: 204 };
}

function parsePrecision(text: string): LinePrecision {
  if (isLinePrecision(text)) return text;
  const names = Object.keys(LINE_PRECISIONS);
  const nearest = nearestName(text, new Map(names.map((name) => [name, name])));
  throw new ServiceError('invalid_argument', `precision=${quoted(text)} is not a unit of time.`, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}Use one of ${names.join(', ')}.`,
  });
}

/** The fields of an error that clients of InfluxDB and QuestDB read. */
export interface LineErrorFields {
  readonly message: string;
  /** The line that is wrong, from 1. */
  readonly line?: number;
  readonly errorId: string;
}

function refusedLines(error: ServiceError, { call }: RequestContext): EndpointResponse {
  const line = error instanceof LineError ? { line: error.line } : {};
  const fields: LineErrorFields = { message: error.message, ...line, errorId: call.requestId };
  return { error, fields: { ...fields } };
}
