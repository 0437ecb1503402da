import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PROGRESS_DELAY_MS } from './progress.ts';
import { EngineSwitch } from '../panes/EngineSwitch.tsx';
import { Key } from '../panes/Key.tsx';
import type { AppState } from '../state/app-state.ts';
import { mayWrite } from '../state/permissions.ts';
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
      {mayWrite(app.info.value) && (
        <button type="button" onClick={onKeep} disabled={onKeep === undefined}>
          Keep… <Key of="k" />
        </button>
      )}
      <EngineSwitch app={app} tab={tab} />
      <RunStatus state={state} />
    </div>
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
