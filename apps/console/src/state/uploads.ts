import { type ReadonlySignal, signal } from '@preact/signals';
import { type Api, type FrameInfo, toError } from '../api/api.ts';
import type { sendFile, Upload } from '../api/upload.ts';
import { uniqueId } from '@svc/client/internal';

/** An upload, running or ended. `storing`: all is sent, and the server works on it. */
export interface UploadJob {
  readonly id: string;
  readonly upload: Upload;
  readonly state: 'sending' | 'storing' | 'done' | 'failed' | 'cancelled';
  readonly sentBytes: number;
  readonly startedAtMs: number;
  readonly frame?: FrameInfo;
  readonly error?: Error;
}

/** The uploads of this page. They go on while the user does something else. */
export interface Uploads {
  readonly jobs: ReadonlySignal<readonly UploadJob[]>;
  /** Starts an upload. The others do not wait for it. */
  start(upload: Upload): void;
  cancel(id: string): void;
  /** Sends a failed or cancelled one again. */
  retry(id: string): void;
  /** Removes an ended job from the list. */
  dismiss(id: string): void;
}

/** Creates the list of uploads; `ended` is called with each ended job. */
export function createUploads(api: Api, ended: (job: UploadJob) => void, send: typeof sendFile = sendLazily): Uploads {
  const jobs = signal<readonly UploadJob[]>([]);
  const aborts = new Map<string, AbortController>();
  const change = (id: string, patch: Partial<UploadJob>): void => {
    jobs.value = jobs.peek().map((job) => (job.id === id ? { ...job, ...patch } : job));
  };
  const end = (id: string, patch: Partial<UploadJob>): void => {
    aborts.delete(id);
    change(id, patch);
    const job = jobs.peek().find((other) => other.id === id);
    if (job) ended(job);
  };
  const start = (upload: Upload): void => {
    const id = uniqueId();
    const abort = new AbortController();
    aborts.set(id, abort);
    jobs.value = [...jobs.peek(), { id, upload, state: 'sending', sentBytes: 0, startedAtMs: Date.now() }];
    const sent = (sentBytes: number): void =>
      change(id, { sentBytes, state: sentBytes >= upload.file.size ? 'storing' : 'sending' });
    send(api, upload, { sent, signal: abort.signal }).then(
      (frame) => end(id, { state: 'done', frame }),
      (error: unknown) => {
        const failed = toError(error);
        end(id, abort.signal.aborted ? { state: 'cancelled' } : { state: 'failed', error: failed });
      },
    );
  };
  const dismiss = (id: string): void => {
    jobs.value = jobs.peek().filter((job) => job.id !== id || aborts.has(id));
  };
  return {
    jobs,
    start,
    cancel: (id) => aborts.get(id)?.abort(),
    retry(id) {
      const job = jobs.peek().find((other) => other.id === id);
      if (job === undefined || aborts.has(id)) return;
      dismiss(id);
      start(job.upload);
    },
    dismiss,
  };
}

/** The first rows do not wait for the code of uploads. */
const sendLazily: typeof sendFile = async (...upload) => (await import('../api/upload.ts')).sendFile(...upload);
