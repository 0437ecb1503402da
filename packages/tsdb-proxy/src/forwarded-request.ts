import type { Dispatcher } from 'undici';
import type { BodySource } from './response-body.ts';
import type { ConnectionValve } from './connection-valve.ts';

/** One GET. The pool assigns its connection; it is then the source of the response body. */
export class ForwardedRequest implements Dispatcher.DispatchOptions, BodySource {
  readonly method = 'GET';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  valve: ConnectionValve | undefined;
  connection: Dispatcher.DispatchController | undefined;

  constructor(path: string, headers: Readonly<Record<string, string>>) {
    this.path = path;
    this.headers = headers;
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
