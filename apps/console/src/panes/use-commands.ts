import { useEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { Command } from '../state/commands.ts';

/** Adds commands as long as the component is on the page; they are new if a dependency has changed. */
export function useCommands(app: AppState, commands: readonly Command[], dependencies: readonly unknown[]): void {
  useEffect(() => app.commands.add(commands), dependencies);
}
