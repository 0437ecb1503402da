import type { Permission } from '@svc/auth';
import { ERROR_CODES } from '@svc/errors';
import type { OperationName, SqlTarget } from '@svc/service';
import { type Channel, ClientError, Metadata } from 'nice-grpc';

/** A server to send requests to, with what a caller of the tenant alpha got from it before. */
export interface Target {
  readonly url: string;
  /** Sends HTTP requests. Default: `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly channel: Channel;
  /** The ticket of the frame `shown`. */
  readonly ticket: Uint8Array;
  /** Prepared statements: a query of `shown`, `drop table none`, and `insert into shown (none) values (?)`. */
  readonly query: Uint8Array;
  readonly update: Uint8Array;
  readonly insert: Uint8Array;
}

/** Sends one request with a value of `Authorization`. Resolves to `ok`, or to the code of the error. */
export type Send = (target: Target, authorization: string | undefined) => Promise<string>;

/** One row of the table: a way to use the server, and its outcome for each caller. */
export interface Way {
  /** The entries of the tables in the code that this row is for; the first one names the row. */
  readonly entries: readonly [string, ...string[]];
  /** Distinguishes the rows of one entry. */
  readonly detail?: string;
  /** The operation behind it, which decides the permissions; undefined if any caller may use it. */
  readonly operation?: OperationName;
  /** The permission that it needs, if there is no operation behind it. */
  readonly permission?: Permission;
  /** Where SQL runs. Default `local`. */
  readonly target?: SqlTarget;
  /** The outcome for a caller of the tenant alpha, which has the frame `shown`, with all permissions. Default `ok`. */
  readonly allowed?: string;
  /** The outcome that the audit shows, if the protocol has another word for it. Default: that of `allowed`. */
  readonly audited?: string;
  /** The outcome for a caller of a tenant without frames. Default: that of `allowed`. */
  readonly elsewhere?: string;
  /** Who may use it without credentials. `optional`: wrong ones are refused. Default: no one. */
  readonly access?: 'open' | 'optional';
  readonly send: Send;
}

/** The name of a row. */
export const nameOf = ({ entries, detail }: Way): string =>
  detail === undefined ? entries[0] : `${entries[0]}, ${detail}`;

/** What the server said so far, with headers: no secret may be in it. */
export const RESPONSES: string[] = [];

/** Sends an HTTP request. */
export function http(path: string, init: RequestInit = {}): Send {
  return async ({ url, fetch: send = fetch }, authorization) => {
    const headers = { ...init.headers, ...(authorization !== undefined && { authorization }) };
    const response = await send(`${url}${path}`, { ...init, headers });
    const text = await response.text();
    RESPONSES.push(JSON.stringify([...response.headers]), text);
    if (response.ok) return 'ok';
    return init.method === 'HEAD' ? codeOf(response.status) : (JSON.parse(text) as { code: string }).code;
  };
}

/** The code of a response without a body: the first with its status. */
function codeOf(status: number): string {
  return Object.entries(ERROR_CODES).find(([, { http: own }]) => own === status)?.[0] ?? String(status);
}

export interface GrpcOptions {
  readonly metadata: Metadata;
  readonly onTrailer: (trailer: Metadata) => void;
}

/** Sends a gRPC call. */
export function grpc(run: (target: Target, options: GrpcOptions) => Promise<unknown>): Send {
  return async (target, authorization) => {
    let code = 'no code';
    const metadata = Metadata(authorization === undefined ? {} : { authorization });
    const onTrailer = (trailer: Metadata): void => {
      RESPONSES.push(JSON.stringify([...trailer]));
      code = trailer.get('svc-error-code') ?? code;
    };
    try {
      await run(target, { metadata, onTrailer });
      return 'ok';
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      RESPONSES.push(error.message);
      return code;
    }
  };
}

/** Reads a stream to its end. */
export async function drain(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

/** A stream of one message. */
export async function* one<T>(message: T): AsyncGenerator<T> {
  yield message;
}

/** SQL over the frame that only the tenant alpha has. */
export const SQL = 'select count(*) from shown';
