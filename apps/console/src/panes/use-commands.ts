import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { Command } from '../state/commands.ts';

/** Adds commands as long as the component is on the page, before it is painted: a key that is pressed at once runs. They are new
 * if a dependency has changed. */
export function useCommands(app: AppState, commands: readonly Command[], dependencies: readonly unknown[]): void {
  useLayoutEffect(() => app.commands.add(commands), dependencies);
}
