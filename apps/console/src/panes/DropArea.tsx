import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { mayWrite } from '../state/permissions.ts';
import { Icon } from './Icon.tsx';

/** Files can be dropped anywhere on the page; while they are over it, it says so. */
export function DropArea({ app }: { readonly app: AppState }): JSX.Element | null {
  const isOver = useSignal(false);
  // At once: a browser leaves the page for a file that is dropped before.
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
