import type { JSX } from 'preact';
import { keyLabel } from '../state/commands.ts';

/** True if keys are those of a Mac. */
export const isMac: boolean = /Mac|iPhone|iPad/.test(navigator.platform);

/** A key beside what it does. It is hidden if there is probably no keyboard. */
export function Key({ of }: { readonly of: string }): JSX.Element {
  return <kbd>{keyLabel(of, isMac)}</kbd>;
}
