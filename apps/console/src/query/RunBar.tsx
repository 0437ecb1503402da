import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PROGRESS_DELAY_MS } from './progress.ts';
import type { EngineName } from '../api/types.ts';
import { Key } from '../panes/Key.tsx';
import type { AppState } from '../state/app-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import type { RunState } from './run.ts';
import { actedText, progressText } from './run-text.ts';
import type { QuerySession } from './session.ts';

/** The line under the editor: what can be done with the statement at the cursor, and what the one that runs does. */
export function RunBar(props: {
  readonly app: AppState;
  readonly tab: QueryTab;
  readonly session: QuerySession;
  readonly onKeep: (() => void) | undefined;
}): JSX.Element {
  const { app, tab, session, onKeep } = props;
  const state = session.runner.state.value;
  const isRunning = state.kind === 'running';
  return (
    <div class="run-bar" role="group" aria-label="Run">
      {isRunning ? (
        <button type="button" class="danger" onClick={() => session.runner.cancel()}>
          Cancel <Key of="Escape" />
        </button>
      ) : (
        <button type="button" class="primary" onClick={() => session.run()}>
          Run <Key of="Ctrl+Enter" />
        </button>
      )}
      <button type="button" onClick={() => session.explain()} disabled={tab.engine === 'tsdb'}>
        Explain <Key of="Ctrl+Shift+Enter" />
      </button>
      <button type="button" onClick={onKeep} disabled={onKeep === undefined}>
        Keep… <Key of="k" />
      </button>
      <EngineChoice app={app} tab={tab} />
      <RunStatus state={state} />
    </div>
  );
}

const ENGINES: Readonly<Record<EngineName, { readonly title: string; readonly setting: string }>> = {
  local: { title: 'Frames (local)', setting: 'This server has no SQL engine.' },
  tsdb: { title: 'Time-series database', setting: 'Set SERVICE_TSDB_HTTP_URL to query the time-series database.' },
  scheduler: { title: 'Cluster (scheduler)', setting: 'Set SERVICE_SCHEDULER_URL to run SQL on a cluster.' },
};

function EngineChoice({ app, tab }: { readonly app: AppState; readonly tab: QueryTab }): JSX.Element {
  const engines = app.info.value?.engines ?? [tab.engine];
  const missing = (['local', 'tsdb', 'scheduler'] as const).filter((name) => !engines.includes(name));
  const choose = (value: string): void => {
    const engine = engines.find((name) => name === value);
    if (engine) app.updateTab(tab.id, { engine });
  };
  return (
    <label class="engine" title={missing.map((name) => ENGINES[name].setting).join('\n')}>
      <span>Engine</span>
      <select value={tab.engine} onChange={(event) => choose(event.currentTarget.value)}>
        {(['local', 'tsdb', 'scheduler'] as const).map((name) => (
          <option key={name} value={name} disabled={!engines.includes(name)}>
            {ENGINES[name].title}
            {engines.includes(name) ? '' : ' – not configured'}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What the statement does. Screen readers are told only how it ends, not every step. */
function RunStatus({ state }: { readonly state: RunState }): JSX.Element {
  if (state.kind === 'cancelled') return <p class="run-status">Cancelled.</p>;
  if (state.kind === 'done' && state.end === 'acted') return <p class="run-status">{actedText(state.changedRows)}</p>;
  return <p class="run-status">{state.kind === 'running' && <Progress key={state.requestId} state={state} />}</p>;
}

function Progress({ state }: { readonly state: RunState & { readonly kind: 'running' } }): JSX.Element | null {
  const elapsedMs = useElapsed(state.startMs);
  if (elapsedMs < PROGRESS_DELAY_MS) return null;
  const progress = state.query?.state === 'queued' ? null : (state.query?.progress ?? null);
  return (
    <>
      <progress
        max={1}
        aria-label="Progress of the statement"
        // Without a value the bar is a stripe: an unknown progress has no percent.
        {...(progress !== null && { value: progress })}
      />
      <span>{progressText(state.query, elapsedMs)}</span>
    </>
  );
}

/** Returns the time since a start; the component is shown again ten times a second. */
function useElapsed(startMs: number): number {
  const [nowMs, setNowMs] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, nowMs - startMs);
}
