import type { Observer } from '@svc/service';

/** Returns an observer that passes every event to several, in order. */
export function combineObservers(observers: readonly (Observer | undefined)[]): Observer {
  const all = observers.filter((observer) => observer !== undefined);
  return (event) => {
    for (const observe of all) observe(event);
  };
}
