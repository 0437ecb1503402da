import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { TextRange } from '../editor/error-place.ts';
import type { AppState } from '../state/app-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import { Draft } from './Draft.tsx';
import type { QuerySession } from './session.ts';

/** Where the editor of a tab is. The editor itself stays as long as the tab: here it is only put into the page. */
export function EditorArea(props: {
  readonly app: AppState;
  readonly tab: QueryTab;
  readonly session: QuerySession;
}): JSX.Element {
  const { app, tab, session } = props;
  const place = useRef<HTMLDivElement>(null);
  const typedAt = useRef<TextRange | undefined>(undefined);
  const editor = session.editor.value;
  const failure = session.editorFailure.value;
  useEffect(() => session.loadEditor(), [session]);
  useLayoutEffect(() => {
    if (!editor) return undefined;
    place.current?.replaceChildren(editor.host);
    const { activeElement } = document;
    // A click or a key elsewhere keeps its place.
    if (activeElement === document.body || activeElement === null) editor.focus();
    if (typedAt.current) editor.select(typedAt.current);
    typedAt.current = undefined;
    return () => editor.host.remove();
  }, [editor]);
  if (editor) return <div key="editor" class="editor-area" ref={place} data-area="editor" />;
  return (
    <div key="draft" class="editor-area" data-area="editor" aria-busy={failure === undefined}>
      {failure && (
        <p role="alert">
          The editor could not be loaded.{' '}
          <button type="button" onClick={() => session.loadEditor()}>
            Try again
          </button>
        </p>
      )}
      <Draft app={app} tab={tab} onRun={() => session.run()} onLeave={(selection) => (typedAt.current = selection)} />
    </div>
  );
}
