import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Key } from '../widgets/Key.tsx';
import { pageMs, useCommands, useNow } from '../widgets/hooks.ts';
import type { AppState } from '../state/app-state.ts';
import { mayWrite } from '../state/server-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import { KeepSheet } from './KeepSheet.tsx';
import { type KeepProps, type QueryParts, ResultArea } from './ResultArea.tsx';
import { actedText, PROGRESS_DELAY_MS, progressText, type RunRequest, type RunState } from './run.ts';
import { type QuerySession, sessionsOf } from './session.ts';
import '../style/query.css';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { TextRange } from '../editor/statement-at.ts';
import { Draft } from './Draft.tsx';
import type { EngineName } from '../api/api.ts';

/** The tab of a query: editor, run bar and answer. */
export function QueryPane({ app, tab }: { readonly app: AppState; readonly tab: QueryTab }): JSX.Element {
  const session = sessionsOf(app).of(tab.id);
  const share = useSignal(40);
  const kept = useSignal<RunRequest | undefined>(undefined);
  const request = session.runner.answer.value?.request;
  const canKeep = request !== undefined && mayWrite(app.info.value);
  const onKeep = canKeep ? () => void (kept.value = request) : undefined;
  useQueryCommands(app, session, onKeep);
  return (
    <section class="query-pane" aria-label={`Query ${tab.title}`}>
      <div class="query-top" style={{ height: `${share.value}%` }}>
        <EditorArea app={app} tab={tab} session={session} />
        <RunBar app={app} tab={tab} session={session} onKeep={onKeep} />
      </div>
      <Divider share={share} />
      <ResultArea app={app} tab={tab} session={session} onKeep={onKeep} />
      {kept.value && <KeepSheet app={app} request={kept.value} onClose={() => (kept.value = undefined)} />}
    </section>
  );
}

function useQueryCommands(app: AppState, session: QuerySession, onKeep: (() => void) | undefined): void {
  const group = 'Query';
  const cancel = (): void | false => (session.runner.cancel() ? undefined : false);
  useCommands(
    app,
    [
      { id: 'query.run', title: 'Run the statement at the cursor', group, key: 'Ctrl+Enter', run: () => session.run() },
      {
        id: 'query.explain',
        title: 'Explain the statement at the cursor',
        group,
        key: 'Ctrl+Shift+Enter',
        run: () => session.explain(),
      },
      { id: 'query.cancel', title: 'Cancel the statement that runs', group, key: 'Escape', run: cancel },
      {
        id: 'query.keep',
        title: 'Keep the answer as a frame',
        group,
        key: 'k',
        run: () => (onKeep ? onKeep() : false),
      },
      { id: 'query.edit', title: 'Go to the editor', group, run: () => session.editor.peek()?.focus() },
    ],
    [session, onKeep === undefined, session.runner.answer.value?.request],
  );
}

/** Where the editor of a tab is. The editor itself stays as long as the tab: here it is only put into the page. */
function EditorArea({ app, tab, session }: QueryParts): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const typedAt = useRef<TextRange | undefined>(undefined);
  const editor = session.editor.value;
  const failure = session.editorFailure.value;
  useEffect(() => session.loadEditor(), [session]);
  useLayoutEffect(() => {
    if (!editor) return undefined;
    place.current?.replaceChildren(editor.host);
    const { activeElement } = document;
    // A click or a key elsewhere keeps its place.
    if (activeElement === document.body || activeElement === null) editor.focus();
    if (typedAt.current) editor.select(typedAt.current);
    typedAt.current = undefined;
    return () => editor.host.remove();
  }, [editor]);
  if (editor) return <div key="editor" class="editor-area" ref={place} data-area="editor" />;
  return (
    <div key="draft" class="editor-area" data-area="editor" aria-busy={failure === undefined}>
      {failure && (
        <p role="alert">
          The editor could not be loaded.{' '}
          <button type="button" onClick={() => session.loadEditor()}>
            Try again
          </button>
        </p>
      )}
      <Draft app={app} tab={tab} onRun={() => session.run()} onLeave={(selection) => (typedAt.current = selection)} />
    </div>
  );
}

/** The line under the editor: actions on the statement at the cursor, and the progress of the running one. */
function RunBar({ app, tab, session, onKeep }: QueryParts & KeepProps): JSX.Element {
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
  const elapsedMs = Math.max(0, useNow(100, pageMs) - state.startMs);
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

const MIN = 10;
const MAX = 85;
const STEP = 5;

/** The line between editor and answer. The pointer moves it, or the arrow keys; `share` is the editor's part in percent. */
function Divider({ share }: { readonly share: Signal<number> }): JSX.Element {
  const set = (value: number): void => {
    share.value = Math.round(Math.min(MAX, Math.max(MIN, value)));
  };
  const move = (event: PointerEvent & { readonly currentTarget: HTMLElement }): void => {
    const { currentTarget } = event;
    if (!currentTarget.hasPointerCapture(event.pointerId)) return;
    const pane = currentTarget.parentElement?.getBoundingClientRect();
    if (pane) set(((event.clientY - pane.top) / pane.height) * 100);
  };
  const step = (event: KeyboardEvent): void => {
    const next = { ArrowUp: share.value - STEP, ArrowDown: share.value + STEP, Home: MIN, End: MAX }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    set(next);
  };
  return (
    <div
      class="divider"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the editor"
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={share.value}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={move}
      onKeyDown={step}
    />
  );
}

const ENGINES: readonly { readonly name: EngineName; readonly about: string; readonly setting: string }[] = [
  { name: 'local', about: 'SQL over the frames of this server', setting: 'this server has no SQL engine' },
  { name: 'tsdb', about: 'SQL of the time-series database', setting: 'set SERVICE_TSDB_HTTP_URL' },
  { name: 'scheduler', about: 'SQL over the frames, on a cluster', setting: 'set SERVICE_SCHEDULER_URL' },
];

/** Where the SQL of a tab runs. A missing engine is shown with the setting it needs. */
function EngineSwitch({ app, tab }: { readonly app: AppState; readonly tab: QueryTab }): JSX.Element {
  const engines = app.info.value?.engines ?? [tab.engine];
  return (
    <select
      class="engine-switch"
      aria-label="Engine"
      title={ENGINES.find(({ name }) => name === tab.engine)?.about}
      value={tab.engine}
      onChange={({ currentTarget }) => {
        const chosen = ENGINES.find(({ name }) => name === currentTarget.value);
        if (chosen) app.updateTab(tab.id, { engine: chosen.name });
      }}
    >
      {ENGINES.map(({ name, setting }) => (
        <option key={name} value={name} disabled={!engines.includes(name)}>
          {engines.includes(name) ? name : `${name} (${setting})`}
        </option>
      ))}
    </select>
  );
}
