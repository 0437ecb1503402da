import type { Call } from '@svc/frames';
import type { Service } from '@svc/service';

/** Options of `createFrameService`. */
export interface FrameServiceOptions {
  readonly service: Service;
  /** Returns the current call. */
  readonly current: () => Call;
  /** The longest wait for the next message of an upload. */
  readonly idleTimeoutMs: number;
}
