import { type ReadonlySignal, signal } from '@preact/signals';
import type { Api } from '../api/api.ts';
import { isCancelled, readQuery, type RunningSql } from '../api/queries.ts';
import { askTable } from '../api/table.ts';
import type { EngineName } from '../api/types.ts';
import { uniqueId } from '@svc/client/internal';
import type { Ask } from './sql-reader.ts';

/** What is known of the statements of a chart, a summary or a plan. */
export interface AskingState {
  readonly isRunning: boolean;
  /** When they began, in milliseconds of `performance.now()`. */
  readonly since: number;
  /** What the server says of the statement that runs; undefined until it was asked. */
  readonly running: RunningSql | undefined;
  readonly failure: Error | undefined;
  readonly isCancelled: boolean;
}

/** Runs statements one after the other, with progress, until they are cancelled or others replace them. */
export interface Asking {
  readonly state: ReadonlySignal<AskingState>;
  /**
   * Runs work that asks, and ends what ran before; the signal says when the work itself has to end. Returns undefined if it
   * failed, or was cancelled or replaced.
   */
  run<T>(engine: EngineName, work: (ask: Ask, signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Ends the statements; closing the connection ends them at the server. */
  cancel(): void;
}

/** Statements that take less are not asked about. */
const FIRST_POLL_MS = 300;
const POLL_MS = 500;
const IDLE: AskingState = { isRunning: false, since: 0, running: undefined, failure: undefined, isCancelled: false };

export function createAsking(api: Api): Asking {
  const state = signal<AskingState>(IDLE);
  let current: AbortController | undefined;
  return {
    state,
    async run(engine, work) {
      current?.abort();
      const controller = new AbortController();
      const { signal: ended } = controller;
      current = controller;
      state.value = { ...IDLE, isRunning: true, since: performance.now() };
      const show = (part: Partial<AskingState>): void => {
        if (current === controller) state.value = { ...state.peek(), ...part };
      };
      const ask: Ask = async (sql) => {
        const requestId = uniqueId();
        const stop = poll(api, requestId, ended, (running) => show({ running }));
        try {
          return await askTable(api, sql, { engine, signal: ended, requestId });
        } finally {
          stop();
        }
      };
      try {
        const result = await work(ask, ended);
        if (ended.aborted) return undefined;
        show({ ...IDLE });
        return result;
      } catch (error) {
        if (ended.aborted) return undefined;
        const failure = error instanceof Error ? error : new Error(String(error));
        show(isCancelled(error) ? { ...IDLE, isCancelled: true } : { ...IDLE, failure });
        return undefined;
      }
    },
    cancel() {
      if (!state.peek().isRunning) return;
      current?.abort();
      state.value = { ...IDLE, isCancelled: true };
    },
  };
}

/** Asks the server about a statement until it is stopped. A failure to do so is not the statement's. */
function poll(api: Api, id: string, ended: AbortSignal, show: (running: RunningSql | undefined) => void): () => void {
  const stopped = new AbortController();
  const signals = AbortSignal.any([stopped.signal, ended]);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = async (): Promise<void> => {
    const running = await readQuery(api, id, signals).catch(() => undefined);
    if (signals.aborted) return;
    show(running);
    timer = setTimeout(() => void ask(), POLL_MS);
  };
  timer = setTimeout(() => void ask(), FIRST_POLL_MS);
  return () => {
    clearTimeout(timer);
    stopped.abort();
  };
}
