import type { Service } from '@svc/service';
import type { CountedCall } from './call-traffic.ts';
import type { UploadPace } from './upload-pace.ts';

/** Options of `createFrameService`. */
export interface FrameServiceOptions {
  readonly service: Service;
  /** Returns the current call. */
  readonly current: () => CountedCall;
  /** How slowly clients may send their uploads. */
  readonly pace: UploadPace;
}
