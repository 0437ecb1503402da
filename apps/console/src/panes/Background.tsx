import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { useAppCommands } from './app-commands.ts';
import { DropArea } from './DropArea.tsx';
import { useKeys } from './use-keys.ts';

/** What the page does besides showing something: its commands, their keys, and files that are dropped. */
export function Background(props: {
  readonly app: AppState;
  readonly isDrawerOpen: Signal<boolean>;
}): JSX.Element | null {
  const { app, isDrawerOpen } = props;
  useAppCommands(app, isDrawerOpen);
  useKeys(app);
  return <DropArea app={app} />;
}
