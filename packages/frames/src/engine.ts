import type { Call } from './call.ts';
import type { FrameStream } from './frame-stream.ts';

/** Answers SQL over the caller's frames. */
export interface Engine {
  /** Runs one statement. Its failure is a `ServiceError`; what it has begun ends with the call's signal. */
  query(call: Call, sql: string): Promise<FrameStream>;
  close(): Promise<void>;
}
