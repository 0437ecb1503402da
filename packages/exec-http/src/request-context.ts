import type { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { Context } from 'hono';
import type { NodeBindings } from './http-call.ts';
import type { RequestGuard } from './request-guard.ts';

/** The Hono environment of the endpoints. */
export interface ExecEnv {
  Bindings: NodeBindings;
}

/** One request in flight. */
export interface RequestContext {
  readonly c: Context<ExecEnv>;
  readonly call: Call;
  readonly guard: RequestGuard;
  /** Reports how the request ended; only the first report counts. */
  report(status: number, error?: ServiceError): void;
}
