/** Values that a browser keeps over a reload, by name. A browser that keeps nothing, or is full, is no failure. */
export interface Store {
  read(name: string): unknown;
  write(name: string, value: unknown): void;
  remove(name: string): void;
}

/** The part of the browser's `Storage` that is used. */
export type StorageArea = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Creates a store of JSON values under a prefix; areas are read in order, the first that has the name wins, and all are written. */
export function createStore(areas: readonly StorageArea[], prefix: string): Store {
  const key = (name: string): string => `${prefix}:${name}`;
  return {
    read(name) {
      for (const area of areas) {
        const text = attempt(() => area.getItem(key(name)));
        if (typeof text === 'string') return attempt((): unknown => JSON.parse(text));
      }
      return undefined;
    },
    write(name, value) {
      for (const area of areas) attempt(() => area.setItem(key(name), JSON.stringify(value)));
    },
    remove(name) {
      for (const area of areas) attempt(() => area.removeItem(key(name)));
    },
  };
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
