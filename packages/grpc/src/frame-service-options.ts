import type { Call } from '@svc/frames';
import type { Service } from '@svc/service';
import type { UploadPace } from './upload-pace.ts';

/** Options of `createFrameService`. */
export interface FrameServiceOptions {
  readonly service: Service;
  /** Returns the current call. */
  readonly current: () => Call;
  /** How slowly clients may send their uploads. */
  readonly pace: UploadPace;
}
