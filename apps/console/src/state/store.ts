/** Values by name, kept over a reload. If the browser keeps nothing, or is full, nothing fails. */
export interface Store {
  read(name: string): unknown;
  write(name: string, value: unknown): void;
  /** Writes a value after a while, unless a later one comes: for what changes with every key. */
  writeLater(name: string, value: () => unknown): void;
  /** Writes now what is to be written later. */
  flush(): void;
  remove(name: string): void;
}

/** How long a value is not yet written. */
const LATER_MS = 500;

/** A part of the browser's `Storage`. */
export type StorageArea = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Creates a store of JSON values under a prefix; areas are read in order until one has the name, and all are written. */
export function createStore(areas: readonly StorageArea[], prefix: string): Store {
  const key = (name: string): string => `${prefix}:${name}`;
  const late = new Map<string, () => unknown>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = (name: string, value: unknown): void => {
    late.delete(name);
    const text = attempt(() => JSON.stringify(value));
    if (text !== undefined) for (const area of areas) attempt(() => area.setItem(key(name), text));
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const [name, value] of late) write(name, value());
  };
  return {
    read(name) {
      for (const area of areas) {
        const text = attempt(() => area.getItem(key(name)));
        if (typeof text === 'string') return attempt((): unknown => JSON.parse(text));
      }
      return undefined;
    },
    write,
    writeLater(name, value) {
      late.set(name, value);
      timer ??= setTimeout(flush, LATER_MS);
    },
    flush,
    remove(name) {
      late.delete(name);
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
