import type { JSX } from 'preact';
import { ErrorBox } from '../widgets/ErrorBox.tsx';
import { pageMs, useNow } from '../widgets/hooks.ts';
import { FrameReplaced } from '../rows/windows.ts';
import { type ReadonlySignal, signal } from '@preact/signals';
import { type Api, type EngineName, type FrameInfo, toError } from '../api/api.ts';
import { askTable, isCancelled, type RunningSql, watchQuery } from '../api/statements.ts';
import { ClientError, describeFrame, uniqueId } from '@svc/client/internal';
import type { Ask } from './sql-reader.ts';
import type { AppState } from '../state/app-state.ts';

/** Shows nothing for faster statements. */
const SHOWN_AFTER_MS = 300;

/** The progress of the statements of a pane, with a button to cancel them, and their failure. */
export function AskBar(props: {
  readonly asking: Asking;
  /** What is being done: `Reading the chart`. */
  readonly label: string;
  readonly retry: () => void;
}): JSX.Element | null {
  const { asking, label, retry } = props;
  const { isRunning, since, running, failure, isCancelled: wasCancelled } = asking.state.value;
  const now = useNow(isRunning ? 100 : undefined, pageMs);
  if (failure instanceof FrameReplaced) {
    return (
      <div class="ask-bar">
        <output>{failure.message}</output>
      </div>
    );
  }
  if (failure) {
    return (
      <ErrorBox error={failure}>
        <button type="button" onClick={retry}>
          Try again
        </button>
      </ErrorBox>
    );
  }
  if (wasCancelled) {
    return (
      <div class="ask-bar">
        <output>Cancelled.</output>
        <button type="button" onClick={retry}>
          Try again
        </button>
      </div>
    );
  }
  const elapsed = now - since;
  if (!isRunning || elapsed < SHOWN_AFTER_MS) return null;
  const progress = running?.progress;
  const place = running?.state === 'queued' ? `, ${running.queuePosition ?? 1} in line` : '';
  const percent = typeof progress === 'number' ? `, ${Math.floor(progress * 100)} %` : '';
  return (
    <div class="ask-bar">
      <progress aria-label={label} max={1} {...(typeof progress === 'number' && { value: progress })} />
      <span>
        {label}: {(elapsed / 1000).toFixed(1)} s{percent}
        {place}
      </span>
      <button type="button" onClick={() => asking.cancel()}>
        Cancel
      </button>
    </div>
  );
}

/** What is known of the statements of a chart, a summary or a plan. */
export interface AskingState {
  readonly isRunning: boolean;
  /** When they began, in milliseconds of `performance.now()`. */
  readonly since: number;
  /** The server's view of the running statement; undefined until it was asked. */
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

/** Nothing is asked about faster statements. */
const POLLS = { firstMs: 300, everyMs: 500 };
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
        const answered = new AbortController();
        const signals = AbortSignal.any([answered.signal, ended]);
        void watchQuery(api, requestId, signals, (running) => show({ running }), POLLS);
        try {
          return await askTable(api, sql, { engine, signal: ended, requestId });
        } finally {
          answered.abort();
        }
      };
      try {
        const result = await work(ask, ended);
        if (ended.aborted) return undefined;
        show({ ...IDLE });
        return result;
      } catch (error) {
        if (ended.aborted) return undefined;
        show(isCancelled(error) ? { ...IDLE, isCancelled: true } : { ...IDLE, failure: toError(error) });
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

/**
 * Throws `FrameReplaced` unless a frame still has the version that is shown. Versions never come back, so all statements
 * that were answered before have read this version.
 */
export async function confirmVersion(
  app: Pick<AppState, 'api' | 'refreshFrames'>,
  frame: FrameInfo | undefined,
  ended: AbortSignal,
): Promise<void> {
  if (frame === undefined || (await frameVersion(app.api, frame.handle, ended)) === frame.version) return;
  void app.refreshFrames();
  throw new FrameReplaced('The frame has been replaced. Reload shows the newer version.');
}

/** Returns the current version of a frame; undefined if there is no such frame. */
async function frameVersion(api: Api, handle: string, ended: AbortSignal): Promise<string | undefined> {
  try {
    return (await describeFrame(api, handle, { signal: ended })).version;
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}
