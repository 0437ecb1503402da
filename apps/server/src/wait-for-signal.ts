import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** npm passes on the Ctrl-C that the terminal sends to the server, too: both are one signal. */
const SAME_SIGNAL_MS = 500;

/** Resolves with the first SIGTERM or SIGINT; a second one, a little later, exits at once. */
export function waitForSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    for (const name of SIGNALS) {
      process.on(name, () => {
        firstMs ??= performance.now();
        if (performance.now() - firstMs >= SAME_SIGNAL_MS) exitBy(name);
        resolve(name);
      });
    }
  });
}

/** Exits at once on a signal, but regularly, so that temporary directories are removed. Returns a function that stops it. */
export function exitOnSignal(): () => void {
  const handlers = SIGNALS.map((name) => [name, () => exitBy(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  return () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
}

function exitBy(name: (typeof SIGNALS)[number]): void {
  process.exit(128 + constants.signals[name]);
}
