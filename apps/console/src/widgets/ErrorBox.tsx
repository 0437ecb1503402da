import type { JSX } from 'preact';
import { ClientError } from '@svc/client/internal';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './Icon.tsx';

/** An error: what happened, what to do, and the id of the request in the server's log. */
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

type CopyState = 'idle' | 'copied' | 'failed';

/** A button to copy a text; it says if it has. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const [state, setState] = useState<CopyState>('idle');
  useEffect(() => {
    if (state === 'idle') return undefined;
    const timer = setTimeout(() => setState('idle'), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    copyText(text).then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  const result = { idle: '', copied: 'Copied', failed: 'Could not copy' }[state];
  return (
    <button type="button" class="quiet copy" onClick={copy} title={label} aria-label={result || label}>
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      <span role="status">{result}</span>
    </button>
  );
}

/** Copies a text. Pages without TLS and from another machine have no clipboard API. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'off-screen';
  // A modal dialog makes everything outside of it unable to have the focus.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser refused to copy.');
}
