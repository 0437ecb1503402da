import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Resolves with the first SIGTERM or SIGINT; a second one exits at once. */
export function waitForSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (isStopping) exitBy(name);
        isStopping = true;
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
