import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Api, ApiObserver } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import { type FrameList, readFrames } from '../api/frames.ts';
import type { FrameInfo, ServerInfo } from '../api/types.ts';
import type { Connection } from './app-state.ts';

/** What is known about the server. It is polled; a server that is gone is asked again after longer and longer times. */
export interface ServerState {
  readonly api: Api;
  readonly connection: ReadonlySignal<Connection>;
  readonly info: ReadonlySignal<ServerInfo | undefined>;
  readonly frames: ReadonlySignal<readonly FrameInfo[]>;
  readonly hasFrames: ReadonlySignal<boolean>;
  readonly framesFailure: ReadonlySignal<ApiError | undefined>;
  /** Why the last credentials were refused. */
  readonly refusal: ReadonlySignal<ApiError | undefined>;
  /** When a server that is gone is asked again, in milliseconds since 1970; undefined: it is asked now. */
  readonly retryAtMs: ReadonlySignal<number | undefined>;
  refresh(): Promise<void>;
  signIn(token: string): Promise<void>;
  /** Stops or goes on with polling: a page that is not seen does not ask. */
  setVisible(isVisible: boolean): void;
}

/** The time between two questions for the list of frames. */
export const POLL_MS = 5000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

/** Creates the state of a server, and starts to load it. */
export function createServerState(connect: (observer: ApiObserver) => Api): ServerState {
  const connection = signal<Connection>('loading');
  const info = signal<ServerInfo | undefined>(undefined);
  const frames = signal<readonly FrameInfo[]>([]);
  const hasFrames = signal(false);
  const framesFailure = signal<ApiError | undefined>(undefined);
  const refusal = signal<ApiError | undefined>(undefined);
  const retryAtMs = signal<number | undefined>(undefined);
  let list: FrameList | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retryMs = FIRST_RETRY_MS;
  let isVisible = true;
  let running: Promise<void> | undefined;

  const schedule = (afterMs: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), afterMs);
  };
  const api = connect({
    // Only the load itself ends the state `gone`: after it the list is right, too.
    answered: () => connection.peek() === 'gone' && running === undefined && schedule(0),
    gone: () => {
      if (connection.peek() === 'gone' || connection.peek() === 'signed-out') return;
      connection.value = 'gone';
      retryMs = FIRST_RETRY_MS;
      if (running === undefined) scheduleRetry();
    },
    unauthenticated: (error) => {
      refusal.value = error;
      connection.value = 'signed-out';
    },
  });
  function scheduleRetry(): void {
    retryAtMs.value = Date.now() + retryMs;
    schedule(retryMs);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }

  async function load(): Promise<void> {
    const isKnown = info.peek() !== undefined && connection.peek() === 'ready';
    const [newInfo, newList] = await Promise.all([isKnown ? info.peek() : readInfo(api), readFrames(api, list)]);
    list = newList;
    batch(() => {
      info.value = newInfo;
      frames.value = newList.frames;
      hasFrames.value = true;
      framesFailure.value = undefined;
      connection.value = 'ready';
    });
  }

  async function refreshOnce(): Promise<void> {
    retryAtMs.value = undefined;
    try {
      await load();
    } catch (error) {
      if (error instanceof ApiError && error.status !== 401) {
        framesFailure.value = error;
        info.value ??= await readInfo(api).catch(() => undefined);
        if (connection.peek() !== 'signed-out') connection.value = info.peek() ? 'ready' : 'gone';
      }
    }
    running = undefined;
    if (connection.peek() === 'gone') scheduleRetry();
    else if (connection.peek() === 'ready' && isVisible) schedule(POLL_MS);
  }

  function refresh(): Promise<void> {
    clearTimeout(timer);
    return (running ??= refreshOnce());
  }
  void refresh();
  return {
    api,
    connection,
    info,
    frames,
    hasFrames,
    framesFailure,
    refusal,
    retryAtMs,
    /** A load that runs may have been answered before the change that the caller made: load once more after it. */
    refresh: async () => {
      await running;
      await refresh();
    },
    async signIn(token) {
      api.setToken(token);
      list = undefined;
      info.value = undefined;
      await running;
      await refresh();
    },
    setVisible(value) {
      if (value === isVisible) return;
      isVisible = value;
      if (isVisible) void refresh();
      else if (connection.peek() === 'ready') clearTimeout(timer);
    },
  };
}

async function readInfo(api: Api): Promise<ServerInfo> {
  return (await (await api.request('/info')).json()) as ServerInfo;
}
