/** A budget of bytes for several caches. */
export interface CacheBudget {
  readonly maxBytes: number;
  /** The bytes of all caches. */
  usedBytes: number;
  /** The caches, in the order in which they evict. */
  readonly caches: {
    readonly evict: (isEnough: () => boolean) => boolean;
    /** The bytes it can evict. */
    readonly idleBytes: () => number;
  }[];
}

/** Creates a budget. If it is used up, its first cache evicts first. */
export function createCacheBudget(maxBytes: number): CacheBudget {
  return { maxBytes, usedBytes: 0, caches: [] };
}

/** Options of `createPinnedLru`. */
export interface PinnedLruOptions<Key, Value> {
  readonly budget: CacheBudget;
  /** A limit of this cache alone; it may change. Default: the budget. */
  readonly maxBytes?: () => number;
  /** The most unpinned entries. Default: no limit. */
  readonly maxCount?: number;
  /** How long an entry stays after its last use by a pin. Default: until it is evicted. */
  readonly idleMs?: number;
  /** True for entries in use without a pin: they are not evicted either. Default: none. */
  readonly isInUse?: (key: Key) => boolean;
  /** Called with an entry when it makes room for others. */
  readonly onEvict?: (value: Value) => void;
  /** Called with an entry when it has left the cache and its last pin is released. */
  readonly dispose?: (value: Value) => void;
}

/** A use of an entry: until it is released, the entry is not evicted. */
export interface Pin<Key, Value> {
  readonly value: Value;
  /** Changes the size of the entry, and evicts others for it. False, without a change, if it does not fit. */
  resize(bytes: number): boolean;
  /** Puts the entry under a key, in place of another one. */
  keep(key: Key): void;
  /** Removes the entry from its key. */
  drop(): void;
  release(): void;
}

/**
 * An LRU cache within a budget of bytes. Pinned entries are not evicted. If one is removed, it counts until its last pin is
 * released.
 */
export interface PinnedLru<Key, Value> {
  /** The bytes of all entries, also of those without a key. */
  readonly usedBytes: number;
  /** The number of entries with a key. */
  readonly count: number;
  has(key: Key): boolean;
  /** Returns a value and makes it the most recently used one. */
  get(key: Key): Value | undefined;
  /** Pins an entry and makes it the most recently used one. */
  pin(key: Key): Pin<Key, Value> | undefined;
  /** Creates a pinned entry of no bytes, without a key. */
  create(value: Value): Pin<Key, Value>;
  /** Adds or replaces an unpinned entry. False if it does not fit. */
  set(key: Key, value: Value, bytes: number): boolean;
  /** Gives an entry another key. */
  move(from: Key, to: Key): void;
  remove(key: Key): void;
  /** Evicts entries until `isEnough`: unpinned ones, or if `isForced`, also the others. Returns `isEnough()`. */
  evict(isEnough: () => boolean, isForced?: boolean): boolean;
}

interface Entry<Key, Value> {
  readonly value: Value;
  key: Key | undefined;
  bytes: number;
  pins: number;
  isDisposed: boolean;
  idleTimer?: NodeJS.Timeout;
}

/** Caches that share a budget keep their entries if evicting all of them is not enough. */
function canFit({ caches, usedBytes, maxBytes }: CacheBudget, more: number): boolean {
  if (caches.length === 1) return true;
  const evictable = caches.reduce((sum, cache) => sum + cache.idleBytes(), 0);
  return usedBytes - evictable + more <= maxBytes;
}

/** Creates an empty cache. */
export function createPinnedLru<Key, Value>(options: PinnedLruOptions<Key, Value>): PinnedLru<Key, Value> {
  const { budget, maxCount = Infinity, idleMs, onEvict = () => {}, dispose = () => {} } = options;
  const { maxBytes = () => budget.maxBytes, isInUse = () => false } = options;
  /** In LRU order. */
  const entries = new Map<Key, Entry<Key, Value>>();
  let usedBytes = 0;
  budget.caches.push({
    evict: (isEnough) => evict(isEnough),
    idleBytes: () => unpinned().reduce((sum, [key, { bytes }]) => (isInUse(key) ? sum : sum + bytes), 0),
  });
  const unpinned = (): [Key, Entry<Key, Value>][] => [...entries].filter(([, { pins }]) => pins === 0);

  function count(entry: Entry<Key, Value>, bytes: number): void {
    usedBytes += bytes - entry.bytes;
    budget.usedBytes += bytes - entry.bytes;
    entry.bytes = bytes;
  }

  function end(entry: Entry<Key, Value>): void {
    if (entry.isDisposed) return;
    entry.isDisposed = true;
    count(entry, 0);
    dispose(entry.value);
  }

  function drop(entry: Entry<Key, Value>, isForced = false): void {
    if (entry.key !== undefined) entries.delete(entry.key);
    entry.key = undefined;
    clearTimeout(entry.idleTimer);
    if (isForced || entry.pins === 0) end(entry);
  }

  function evict(isEnough: () => boolean, isForced = false): boolean {
    for (const [key, entry] of entries) {
      if (isEnough()) return true;
      if (!isForced && (entry.pins > 0 || isInUse(key))) continue;
      drop(entry, isForced);
      onEvict(entry.value);
    }
    return isEnough();
  }

  function resize(entry: Entry<Key, Value>, bytes: number): boolean {
    const limit = maxBytes();
    if (entry.isDisposed || bytes > limit || bytes > budget.maxBytes) return false;
    const more = bytes - entry.bytes;
    const fits = (): boolean => budget.usedBytes + more <= budget.maxBytes;
    if (more > 0 && !evict(() => usedBytes + more <= limit)) return false;
    if (more > 0 && !fits() && !(canFit(budget, more) && budget.caches.some((cache) => cache.evict(fits))))
      return false;
    count(entry, bytes);
    return true;
  }

  function use(entry: Entry<Key, Value>): Pin<Key, Value> {
    let isOpen = true;
    entry.pins += 1;
    clearTimeout(entry.idleTimer);
    return {
      value: entry.value,
      resize: (bytes) => resize(entry, bytes),
      keep(key) {
        if (entry.isDisposed) return;
        remove(key);
        if (maxCount < Infinity) evict(() => unpinned().length < maxCount);
        entry.key = key;
        entries.set(key, entry);
      },
      drop: () => drop(entry),
      release() {
        if (!isOpen) return;
        isOpen = false;
        entry.pins -= 1;
        if (entry.pins > 0) return;
        if (entry.key === undefined) end(entry);
        else if (idleMs !== undefined) entry.idleTimer = setTimeout(() => drop(entry), idleMs).unref();
      },
    };
  }

  function remove(key: Key): void {
    const entry = entries.get(key);
    if (entry !== undefined) drop(entry);
  }

  function find(key: Key): Entry<Key, Value> | undefined {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entries.delete(key);
    entries.set(key, entry);
    return entry;
  }

  const create = (value: Value): Pin<Key, Value> =>
    use({ value, key: undefined, bytes: 0, pins: 0, isDisposed: false });

  return {
    get usedBytes() {
      return usedBytes;
    },
    get count() {
      return entries.size;
    },
    has: (key) => entries.has(key),
    get: (key) => find(key)?.value,
    pin(key) {
      const entry = find(key);
      return entry && use(entry);
    },
    create,
    set(key, value, bytes) {
      remove(key);
      const pin = create(value);
      const isKept = pin.resize(bytes);
      if (isKept) pin.keep(key);
      pin.release();
      return isKept;
    },
    move(from, to) {
      const entry = entries.get(from);
      if (entry === undefined || Object.is(from, to)) return;
      remove(to);
      entries.delete(from);
      entry.key = to;
      entries.set(to, entry);
    },
    remove,
    evict,
  };
}
