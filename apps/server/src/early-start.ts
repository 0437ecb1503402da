import { tmpdir } from 'node:os';
import type { ChildLink } from '@svc/duckdb';
import { startChild } from '@svc/duckdb/internal';
import { exitOnSignal } from './wait-for-signal.ts';

/** The engine child, which starts before the settings are read: it takes longest and depends on none of them. */
export interface EarlyStart {
  /** Returns the child to the server that uses it. From then on, the server handles signals. */
  take(): ChildLink;
  /** Ends the child if no server uses it. */
  end(): Promise<void>;
}

/** Flags that print something instead of starting a server. Short ones may be among them. */
const PRINTS = /^(?:-[^-]|--(?:help|version|print-config)$)/;

/** Starts the engine child, unless the command line asks for something else than a server. */
export function startEarly(argv: readonly string[]): EarlyStart | undefined {
  if (argv.some((word) => PRINTS.test(word))) return undefined;
  const stopExit = exitOnSignal();
  const child = startServerChild();
  return {
    take() {
      stopExit();
      return child;
    },
    async end() {
      if (!child.isAlive) return;
      // It has no work yet: it need not be asked.
      child.retire('stopped');
      await child.close();
    },
  };
}

/** Starts the engine child of a server. */
export function startServerChild(): ChildLink {
  return startChild({ tempDirectory: tmpdir() });
}
