import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatBytes } from '../state/format.ts';
import type { UploadJob } from '../state/uploads.ts';
import { ErrorBox } from './ErrorBox.tsx';
import { Icon } from './Icon.tsx';

/** The uploads that run or have ended, in a corner: the page stays usable. */
export function UploadTray({ app }: { readonly app: AppState }): JSX.Element | null {
  const jobs = app.uploads.jobs.value;
  if (jobs.length === 0) return null;
  return (
    <section class="tray" aria-label="Uploads">
      <ul>
        {jobs.map((job) => (
          <JobItem key={job.id} app={app} job={job} />
        ))}
      </ul>
    </section>
  );
}

function JobItem({ app, job }: { readonly app: AppState; readonly job: UploadJob }): JSX.Element {
  const { handle, file } = job.upload;
  const isRunning = job.state === 'sending' || job.state === 'storing';
  return (
    <li class={`job ${job.state}`}>
      <div class="line">
        <strong>{handle}</strong>
        <span class="state" role="status">
          {stateText(job)}
        </span>
        {job.state === 'done' && (
          <button type="button" onClick={() => app.openFrame(handle)}>
            Open
          </button>
        )}
        {(job.state === 'failed' || job.state === 'cancelled') && (
          <button type="button" onClick={() => app.uploads.retry(job.id)}>
            Try again
          </button>
        )}
        <button
          type="button"
          class="quiet"
          aria-label={isRunning ? `Cancel the upload of ${handle}` : `Dismiss ${handle}`}
          title={isRunning ? 'Cancel' : 'Dismiss'}
          onClick={() => (isRunning ? app.uploads.cancel(job.id) : app.uploads.dismiss(job.id))}
        >
          <Icon name="close" />
        </button>
      </div>
      {job.state === 'sending' && (
        <progress value={job.sentBytes} max={Math.max(file.size, 1)} aria-label={`Upload of ${handle}`} />
      )}
      {job.state === 'storing' && <progress aria-label={`The server stores ${handle}`} />}
      {job.error && <ErrorBox error={job.error} />}
    </li>
  );
}

function stateText({ state, sentBytes, upload, frame }: UploadJob): string {
  const texts = {
    sending: `${formatBytes(sentBytes)} of ${formatBytes(upload.file.size)}`,
    storing: 'The server stores it…',
    done: frame === undefined ? 'Stored' : countOf(frame.rows, 'row'),
    failed: 'Failed',
    cancelled: 'Cancelled',
  };
  return texts[state];
}
