import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Resolves with the first SIGTERM or SIGINT; a second one exits at once. */
export function waitForSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (isStopping) process.exit(128 + constants.signals[name]);
        isStopping = true;
        resolve(name);
      });
    }
  });
}
