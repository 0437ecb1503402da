import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './Icon.tsx';

/** A modal dialog. Escape, the button and a click beside it close it; then the focus is again where it was. */
export function Dialog(props: {
  readonly title: string;
  readonly name: string;
  /** True if the title is only for screen readers. */
  readonly isBare?: boolean;
  /** Without it, the dialog cannot be closed. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title, name, isBare = false, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const { current } = dialog;
    current?.showModal();
    // The first field is what the user came for, not the close button.
    current?.querySelector<HTMLInputElement>('input:not([type="file"])')?.focus();
    return () => current?.close();
  }, []);
  const titleId = `${name}-title`;
  return (
    <dialog
      ref={dialog}
      class={name}
      aria-labelledby={titleId}
      onCancel={(event) => {
        // A cancelled file picker in the dialog sends the same event.
        if (event.target !== dialog.current) return;
        event.preventDefault();
        onClose?.();
      }}
      onClose={() => {
        // The event comes later: meanwhile another dialog may be open.
        if (!dialog.current?.isConnected) return;
        // Browsers close a dialog at the second Escape, whatever the page says.
        if (onClose) onClose();
        else dialog.current.showModal();
      }}
      onPointerDown={(event) => event.target === dialog.current && onClose?.()}
    >
      <div class="dialog-body">
        <header class={isBare ? 'off-screen' : ''}>
          <h2 id={titleId}>{title}</h2>
          {onClose && (
            <button
              type="button"
              class="quiet"
              onClick={onClose}
              aria-label="Close"
              title="Close (Esc)"
              tabIndex={isBare ? -1 : 0}
            >
              <Icon name="close" />
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}
