import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatBytes } from '../state/format.ts';
import type { UploadJob } from '../state/uploads.ts';
import { ErrorBox } from '../widgets/ErrorBox.tsx';
import { Icon, IconButton } from '../widgets/Icon.tsx';
import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { mayWrite } from '../state/server-state.ts';

/** The uploads, in a corner: the page stays usable. */
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
        <IconButton
          icon="close"
          label={isRunning ? `Cancel the upload of ${handle}` : `Dismiss ${handle}`}
          title={isRunning ? 'Cancel' : 'Dismiss'}
          onClick={() => (isRunning ? app.uploads.cancel(job.id) : app.uploads.dismiss(job.id))}
        />
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

/** Files can be dropped anywhere on the page; while they are over it, it says so. */
export function DropArea({ app }: { readonly app: AppState }): JSX.Element | null {
  const isOver = useSignal(false);
  // At once: without it, the browser leaves the page for a dropped file.
  useLayoutEffect(() => {
    const onDragOver = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      isOver.value = true;
    };
    const onDragLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) isOver.value = false;
    };
    const onDrop = (event: DragEvent): void => {
      isOver.value = false;
      const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file');
      if (items.length === 0) return;
      event.preventDefault();
      // The editor would take the text of a file into its own.
      event.stopPropagation();
      if (!mayWrite(app.info.peek())) return app.notify('Your token may read frames but not put any.');
      const files = items.flatMap((item) => (item.webkitGetAsEntry()?.isDirectory ? [] : (item.getAsFile() ?? [])));
      if (files.length < items.length) app.notify('A folder cannot be uploaded. Drop the files that are in it.');
      if (files.length === 0) return;
      app.pickedFiles.value = [...app.pickedFiles.peek(), ...files];
      app.sheet.value = 'upload';
    };
    document.addEventListener('dragover', onDragOver);
    document.addEventListener('dragleave', onDragLeave);
    document.addEventListener('drop', onDrop, true);
    return () => {
      document.removeEventListener('dragover', onDragOver);
      document.removeEventListener('dragleave', onDragLeave);
      document.removeEventListener('drop', onDrop, true);
    };
  }, [app, isOver]);
  if (!isOver.value) return null;
  return (
    <div class="drop-area" aria-hidden="true">
      <p>
        <Icon name="upload" /> Drop to put as frames
      </p>
    </div>
  );
}
