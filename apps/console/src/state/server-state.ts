import { type ClientError, readJson } from '@svc/client/internal';
import { batch, type ReadonlySignal, signal } from '@preact/signals';
import { type Api, type ApiObserver, askedMs, isRefusal, type ListedFrame, type ServerInfo } from '../api/api.ts';

/** The state of the connection: `loading` until the first answer, `signed-out` if the server wants a token. */
export type Connection = 'loading' | 'ready' | 'gone' | 'signed-out';

/** The state of the server, by polling; while it is gone, with longer and longer pauses. */
export interface ServerState {
  readonly api: Api;
  readonly connection: ReadonlySignal<Connection>;
  /** What the server can do; undefined until it has answered. */
  readonly info: ReadonlySignal<ServerInfo | undefined>;
  /** The frames of the server, sorted by handle; polled. */
  readonly frames: ReadonlySignal<readonly ListedFrame[]>;
  /** False until the list has come once. */
  readonly hasFrames: ReadonlySignal<boolean>;
  /** Why the list could not be loaded, if the server is there. */
  readonly framesFailure: ReadonlySignal<ClientError | undefined>;
  /** Why the last credentials were refused; the server's error for a request without any is one, too. */
  readonly refusal: ReadonlySignal<ClientError | undefined>;
  /** When a lost server is asked again, in milliseconds since 1970; undefined: it is asked now. */
  readonly retryAtMs: ReadonlySignal<number | undefined>;
  /** How far the server's clock is ahead of this one, in milliseconds: times of the server are judged by it. */
  readonly clockAheadMs: ReadonlySignal<number>;
  readonly refresh: () => Promise<void>;
  /** Takes a token for all requests and loads everything again; it is kept in memory only. */
  readonly signIn: (token: string) => Promise<void>;
  /** Forgets the token and all it gave access to. */
  readonly signOut: () => void;
  /** Stops or resumes polling: a hidden page does not ask. */
  readonly setVisible: (isVisible: boolean) => void;
}

/** The time between two questions for the list of frames. */
export const POLL_MS = 5000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

/** Creates the state of a server, and starts to load it. */
export function createServerState(connect: (observer: ApiObserver) => Api): ServerState {
  const facts = createFacts();
  const { connection, retryAtMs } = facts;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retryMs = FIRST_RETRY_MS;
  let isVisible = true;
  let running: Promise<void> | undefined;

  const schedule = (afterMs: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), afterMs);
  };
  function scheduleRetry(): void {
    const afterMs = Math.max(retryMs, waitMs(facts));
    retryAtMs.value = Date.now() + afterMs;
    schedule(afterMs);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }
  const api = connect({
    // Only the load itself ends the state `gone`: after it the list is right, too.
    answered: (serverMs) => {
      setClock(facts, serverMs);
      if (connection.peek() === 'gone' && running === undefined) schedule(0);
    },
    gone: () => {
      if (connection.peek() === 'gone' || connection.peek() === 'signed-out') return;
      connection.value = 'gone';
      retryMs = FIRST_RETRY_MS;
      if (running === undefined) scheduleRetry();
    },
    unauthenticated: (error) => refuse(facts, error),
  });
  const loader = createLoader(api, facts);

  async function refreshOnce(): Promise<void> {
    retryAtMs.value = undefined;
    await loader.load();
    running = undefined;
    if (connection.peek() === 'gone') scheduleRetry();
    else if (connection.peek() === 'ready' && isVisible) schedule(Math.max(POLL_MS, waitMs(facts)));
  }
  function refresh(): Promise<void> {
    clearTimeout(timer);
    return (running ??= refreshOnce());
  }
  /** A running load may not have the caller's change: loads once more after it. */
  async function refreshAfter(): Promise<void> {
    await running;
    await refresh();
  }
  void refresh();
  return {
    ...facts,
    api,
    refresh: refreshAfter,
    async signIn(token) {
      api.setToken(token);
      loader.forget();
      await refreshAfter();
    },
    signOut() {
      clearTimeout(timer);
      api.setToken(undefined);
      loader.forget();
      clearFacts(facts);
    },
    setVisible(value) {
      if (value === isVisible) return;
      isVisible = value;
      if (isVisible) void refresh();
      else if (connection.peek() === 'ready') clearTimeout(timer);
    },
  };
}

/** How long a busy server asked to be left alone. */
function waitMs({ framesFailure }: ReturnType<typeof createFacts>): number {
  return askedMs(framesFailure.peek());
}

/** The server says whole seconds, and its answer takes a while: less of a difference is none. */
const CLOCK_NOISE_MS = 3000;

function setClock({ clockAheadMs }: ReturnType<typeof createFacts>, serverMs: number | undefined): void {
  if (serverMs === undefined) return;
  const aheadMs = serverMs - Date.now();
  if (Math.abs(aheadMs - clockAheadMs.peek()) < CLOCK_NOISE_MS) return;
  clockAheadMs.value = Math.abs(aheadMs) < CLOCK_NOISE_MS ? 0 : aheadMs;
}

/** What is known about the server, as it can be changed. */
function createFacts() {
  return {
    connection: signal<Connection>('loading'),
    info: signal<ServerInfo | undefined>(undefined),
    frames: signal<readonly ListedFrame[]>([]),
    hasFrames: signal(false),
    framesFailure: signal<ClientError | undefined>(undefined),
    refusal: signal<ClientError | undefined>(undefined),
    retryAtMs: signal<number | undefined>(undefined),
    clockAheadMs: signal(0),
  };
}

function refuse({ refusal, connection }: ReturnType<typeof createFacts>, error: ClientError): void {
  refusal.value = error;
  connection.value = 'signed-out';
}

/** Removes what a caller who signs out was told. */
function clearFacts({ frames, hasFrames, framesFailure, refusal, connection }: ReturnType<typeof createFacts>): void {
  batch(() => {
    frames.value = [];
    hasFrames.value = false;
    framesFailure.value = undefined;
    refusal.value = undefined;
    connection.value = 'signed-out';
  });
}

/** Loads what the server has into the facts. */
function createLoader(api: Api, facts: ReturnType<typeof createFacts>) {
  const { connection, info, frames, hasFrames, framesFailure } = facts;
  let list: FrameList | undefined;
  /** Counts callers: what one was told is not for the next. */
  let callers = 0;
  async function loadAll(): Promise<void> {
    const caller = callers;
    const isKnown = info.peek() !== undefined && connection.peek() === 'ready';
    const asked = [isKnown ? Promise.resolve(info.peek()) : readInfo(api), readFrames(api, list)] as const;
    // An answer after the failure of the other would look as if the server were back.
    await Promise.allSettled(asked);
    const [newInfo, newList] = await Promise.all(asked);
    if (caller !== callers) return;
    list = newList;
    batch(() => {
      info.value = newInfo;
      frames.value = newList.frames;
      hasFrames.value = true;
      framesFailure.value = undefined;
      connection.value = 'ready';
    });
  }
  async function fail(thrown: unknown): Promise<void> {
    if (isRefusal(thrown) && thrown.status !== 401) {
      framesFailure.value = thrown;
      info.value ??= await readInfo(api).catch(() => undefined);
      if (info.peek() !== undefined && connection.peek() !== 'signed-out') connection.value = 'ready';
    } else framesFailure.value = undefined;
    // A cut answer, or one of another server.
    if (connection.peek() === 'loading' || !isRefusal(thrown)) {
      if (connection.peek() !== 'signed-out') connection.value = 'gone';
    }
  }
  return {
    /** Does not throw: the connection says what became of it. */
    async load(): Promise<void> {
      const caller = callers;
      try {
        await loadAll();
      } catch (error) {
        if (caller === callers) await fail(error);
      }
    },
    /** Forgets what another caller was told. */
    forget(): void {
      callers += 1;
      list = undefined;
      info.value = undefined;
    },
  };
}

async function readInfo(api: Api): Promise<ServerInfo> {
  const info = await readJson<ServerInfo>(await api.send({ path: 'info' }));
  if (!Array.isArray(info.engines)) throw new TypeError('The answer says nothing about the server.');
  return info;
}

/** The list of frames, with its etag. */
export interface FrameList {
  readonly frames: readonly ListedFrame[];
  readonly etag: string | undefined;
}

/** Reads the list of frames. Returns the same list if it has not changed. */
async function readFrames(api: Api, known?: FrameList): Promise<FrameList> {
  const response = await api.send({ path: 'frames', headers: { 'if-none-match': known?.etag }, accept: [304] });
  if (known !== undefined && response.status === 304) return known;
  const { frames } = await readJson<Pick<FrameList, 'frames'>>(response);
  if (!Array.isArray(frames)) throw new TypeError('The answer has no list of frames.');
  return { frames, etag: response.headers.get('etag') ?? undefined };
}

/** True if the server runs SQL. Until it is known, it does. */
export function canQuery(info: ServerInfo | undefined): boolean {
  return (info?.engines.length ?? 1) > 0;
}

/** True if the server runs SQL over its frames. Until it is known, it does not. */
export function hasLocalSql(info: ServerInfo | undefined): boolean {
  return info?.engines.includes('local') === true;
}

/** True if the user may change frames. Without authentication everyone may. */
export function mayWrite(info: ServerInfo | undefined): boolean {
  return info?.caller?.permissions.includes('write') ?? true;
}

/** Returns the frames with every word of a filter in their names or columns; those with all in their names come first. */
export function filterFrames(frames: readonly ListedFrame[], filter: string): readonly ListedFrame[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return frames;
  const byName: ListedFrame[] = [];
  const byColumn: ListedFrame[] = [];
  for (const frame of frames) {
    const handle = frame.handle.toLowerCase();
    const hasColumn = (word: string): boolean =>
      (frame.columns ?? []).some(({ name }) => name.toLowerCase().includes(word));
    if (words.every((word) => handle.includes(word))) byName.push(frame);
    else if (words.every((word) => handle.includes(word) || hasColumn(word))) byColumn.push(frame);
  }
  return [...byName, ...byColumn];
}
