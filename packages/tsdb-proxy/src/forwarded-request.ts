import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { BodySource } from './response-body.ts';
import type { ConnectionValve } from './connection-valve.ts';

/** What is sent. */
export interface SentRequest {
  readonly method: string;
  /** The request target. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readable | undefined;
}

/** One request. The pool assigns its connection; it is then the source of the response body. */
export class ForwardedRequest implements Dispatcher.DispatchOptions, BodySource {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | null;
  valve: ConnectionValve | undefined;
  connection: Dispatcher.DispatchController | undefined;

  constructor({ method, path, headers, body }: SentRequest) {
    this.method = method;
    this.path = path;
    this.headers = headers;
    this.body = body ?? null;
  }

  reuseBuffers(): void {
    this.valve?.reuseBuffers();
  }

  pause(): void {
    this.valve?.shut();
  }

  resume(): void {
    this.valve?.open();
  }

  abort(reason: Error): void {
    this.connection?.abort(reason);
  }
}
