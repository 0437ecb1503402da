import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './Icon.tsx';

type CopyState = 'idle' | 'copied' | 'failed';

/** A button that copies a text, and says whether it has. */
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

/** Copies a text. Pages that are not served over TLS or from this machine have no clipboard API. */
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
