import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useCommands } from '../panes/use-commands.ts';
import type { AppState } from '../state/app-state.ts';
import { mayWrite } from '../state/permissions.ts';
import type { QueryTab } from '../state/tabs.ts';
import { Divider } from './Divider.tsx';
import { EditorArea } from './EditorArea.tsx';
import { KeepSheet } from './KeepSheet.tsx';
import { ResultArea } from './ResultArea.tsx';
import type { RunRequest } from './run.ts';
import { RunBar } from './RunBar.tsx';
import type { QuerySession } from './session.ts';
import { sessionsOf } from './sessions.ts';
import '../style/query.css';

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
  useCommands(
    app,
    [
      {
        id: 'query.run',
        title: 'Run the statement at the cursor',
        group: 'Query',
        key: 'Ctrl+Enter',
        run: () => session.run(),
      },
      {
        id: 'query.explain',
        title: 'Explain the statement at the cursor',
        group: 'Query',
        key: 'Ctrl+Shift+Enter',
        run: () => session.explain(),
      },
      {
        id: 'query.cancel',
        title: 'Cancel the statement that runs',
        group: 'Query',
        key: 'Escape',
        run: () => (session.runner.cancel() ? undefined : false),
      },
      {
        id: 'query.keep',
        title: 'Keep the answer as a frame',
        group: 'Query',
        key: 'k',
        run: () => (onKeep ? onKeep() : false),
      },
      {
        id: 'query.edit',
        title: 'Go to the editor',
        group: 'Query',
        run: () => session.editor.peek()?.focus(),
      },
    ],
    [session, onKeep === undefined, session.runner.answer.value?.request],
  );
}
