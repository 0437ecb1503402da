import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './Icon.tsx';
import { copyText } from './copy-text.ts';

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
