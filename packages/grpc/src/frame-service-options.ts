import type { Call } from '@svc/frames';
import type { Service } from '@svc/service';

/** What the frame service is made of. */
export interface FrameServiceOptions {
  readonly service: Service;
  /** The call that is being answered. */
  readonly current: () => Call;
  /** How long the next message of an upload may take. */
  readonly idleTimeoutMs: number;
}
