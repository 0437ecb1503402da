import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

const MIN = 10;
const MAX = 85;
const STEP = 5;

/** The line between editor and answer. The pointer moves it, or the arrow keys; `share` is the editor's part in percent. */
export function Divider({ share }: { readonly share: Signal<number> }): JSX.Element {
  const set = (value: number): void => {
    share.value = Math.round(Math.min(MAX, Math.max(MIN, value)));
  };
  const move = (event: PointerEvent & { readonly currentTarget: HTMLElement }): void => {
    const { currentTarget } = event;
    if (!currentTarget.hasPointerCapture(event.pointerId)) return;
    const pane = currentTarget.parentElement?.getBoundingClientRect();
    if (pane) set(((event.clientY - pane.top) / pane.height) * 100);
  };
  const step = (event: KeyboardEvent): void => {
    const next = { ArrowUp: share.value - STEP, ArrowDown: share.value + STEP, Home: MIN, End: MAX }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    set(next);
  };
  return (
    <div
      class="divider"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the editor"
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={share.value}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={move}
      onKeyDown={step}
    />
  );
}
