import type { JSX } from 'preact';
import { ClientError } from '@svc/client/internal';
import { CopyButton } from './CopyButton.tsx';

/** An error: what happened, what to do, and the id of the request, which the server's log has. */
export function ErrorBox(props: { readonly error: Error; readonly children?: JSX.Element | undefined }): JSX.Element {
  const { error, children } = props;
  const details = error instanceof ClientError ? error : undefined;
  return (
    <div class="error-box" role="alert">
      <p class="sentence">{error.message}</p>
      {details?.hint && <p class="hint">{details.hint}</p>}
      {details?.retryAfterMs && <p class="hint">Retry in {Math.ceil(details.retryAfterMs / 1000)} s.</p>}
      {details?.requestId && (
        <p class="request">
          <span>
            {details.code} · request <code>{details.requestId}</code>
          </span>
          <CopyButton text={details.requestId} label="Copy the request id" />
        </p>
      )}
      {children}
    </div>
  );
}
