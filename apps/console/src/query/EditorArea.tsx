import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { QuerySession } from './session.ts';

/** Where the editor of a tab is. The editor itself stays as long as the tab: here it is only put into the page. */
export function EditorArea({ session }: { readonly session: QuerySession }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const editor = session.editor.value;
  const failure = session.editorFailure.value;
  useEffect(() => session.loadEditor(), [session]);
  useEffect(() => {
    if (!editor) return undefined;
    place.current?.replaceChildren(editor.host);
    const { activeElement } = document;
    // A new tab is for typing; a click or a key elsewhere keeps its place.
    if (activeElement === document.body || activeElement === null) editor.focus();
    return () => editor.host.remove();
  }, [editor]);
  if (failure) {
    return (
      <div class="editor-area" role="alert">
        <p>The editor could not be loaded.</p>
        <button type="button" onClick={() => session.loadEditor()}>
          Try again
        </button>
      </div>
    );
  }
  return <div class="editor-area" ref={place} data-area="editor" aria-busy={editor === undefined} />;
}
