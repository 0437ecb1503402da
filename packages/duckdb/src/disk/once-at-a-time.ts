/** Returns a function that calls `call` once for all who ask for the same key while it runs. */
export function onceAtATime<Key, T>(call: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const running = new Map<Key, Promise<T>>();
  return (key) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    const started = call(key).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}
