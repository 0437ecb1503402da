import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from '../panes/Icon.tsx';
import { useCommands } from '../panes/use-commands.ts';
import type { AppState } from '../state/app-state.ts';
import { downloadAnswer, downloadFormats, type DownloadFormat } from './download-answer.ts';
import type { RunRequest } from './run.ts';
import { toError } from '../state/to-error.ts';

/** A button with the formats in which the whole answer can be downloaded. */
export function DownloadMenu(props: {
  readonly app: AppState;
  readonly request: RunRequest;
  readonly fileName: string;
  readonly onError: (error: Error) => void;
}): JSX.Element {
  const { app, request, fileName, onError } = props;
  const details = useRef<HTMLDetailsElement>(null);
  const isOpen = useSignal(false);
  const open = (): void => {
    if (!details.current) return;
    details.current.open = true;
    details.current.querySelector('button')?.focus();
  };
  const close = (): void => {
    if (!details.current?.open) return;
    details.current.open = false;
    details.current.querySelector('summary')?.focus();
  };
  const closeOnEscape = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen.value) return;
    event.preventDefault();
    close();
  };
  useCommands(app, [{ id: 'query.download', title: 'Download the answer', group: 'Query', key: 'd', run: open }], []);
  const save = (format: DownloadFormat): void => {
    close();
    const { sql, engine } = request;
    const maxRows = app.info.value?.limits.maxRows ?? null;
    downloadAnswer(app.api, { sql, engine, format, fileName, maxRows }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return;
      onError(toError(error));
    });
  };
  return (
    <details
      class="download-menu"
      ref={details}
      onToggle={(event) => (isOpen.value = event.currentTarget.open)}
      onFocusOut={(event) => {
        const next = event.relatedTarget;
        if (next instanceof Node && !event.currentTarget.contains(next)) event.currentTarget.open = false;
      }}
    >
      <summary title="Download the answer (D)" onKeyDown={closeOnEscape}>
        <Icon name="download" /> <span>Download</span>
      </summary>
      <ul>
        {downloadFormats(app.info.value, request.engine).map((format) => (
          <li key={format.format}>
            <button type="button" class="quiet" onKeyDown={closeOnEscape} onClick={() => save(format)}>
              {format.format}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
