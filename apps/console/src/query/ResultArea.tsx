import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { subqueryOf } from '../chart/relation.ts';
import type { ChartSource } from '../chart/chart-source.ts';
import type { GridActions } from '../grid/Grid.tsx';
import { sqlActions } from '../grid/sql-actions.ts';
import { ErrorBox } from '../panes/ErrorBox.tsx';
import { Key } from '../panes/Key.tsx';
import { lazy } from '../panes/lazy.tsx';
import { type ViewChoice, viewPanelId, ViewTabs, viewTabId } from '../panes/ViewTabs.tsx';
import type { AnswerRows } from '../rows/answer-rows.ts';
import type { AppState } from '../state/app-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import { DownloadMenu } from './DownloadMenu.tsx';
import type { Answer } from './run.ts';
import { answerText, incompleteText } from './run-text.ts';
import type { QuerySession } from './session.ts';
import { uniqueId } from '@svc/client/internal';

const Grid = lazy(async () => (await import('../grid/Grid.tsx')).Grid);
const ChartPane = lazy(async () => (await import('../chart/ChartPane.tsx')).ChartPane);
const SummaryPane = lazy(async () => (await import('../summary/SummaryPane.tsx')).SummaryPane);
const PlanPane = lazy(async () => (await import('../plan/PlanPane.tsx')).PlanPane);

const VIEWS: readonly ViewChoice[] = [
  { view: 'rows', title: 'Rows' },
  { view: 'chart', title: 'Chart' },
  { view: 'summary', title: 'Summary' },
  { view: 'plan', title: 'Plan' },
];

/** What became of the last statement: its error, and the last answer in the view that is chosen. */
export function ResultArea(props: {
  readonly app: AppState;
  readonly tab: QueryTab;
  readonly session: QuerySession;
  readonly onKeep: (() => void) | undefined;
}): JSX.Element {
  const { app, tab, session, onKeep } = props;
  const state = session.runner.state.value;
  const answer = session.runner.answer.value;
  const downloadError = useSignal<Error | undefined>(undefined);
  const error = state.kind === 'failed' ? state.error : downloadError.value;
  // The answer of an earlier statement stays, but must not look like that of the last one.
  const isOld = answer !== undefined && state.kind !== 'idle' && state.request !== answer.request;
  return (
    <>
      {error && <ErrorBox error={error} />}
      <div class="view-bar">
        <ViewTabs app={app} tab={tab} views={VIEWS} />
        {answer && (
          <div class="outcome">
            <AnswerFacts answer={answer} isOld={isOld} />
            <DownloadMenu
              key={tab.id}
              app={app}
              request={answer.request}
              fileName={tab.title}
              onError={(thrown) => (downloadError.value = thrown)}
            />
          </div>
        )}
      </div>
      {answer && tab.view !== 'plan' && <Incomplete answer={answer} onKeep={onKeep} />}
      <div
        class={isOld ? 'view-panel old' : 'view-panel'}
        role="tabpanel"
        id={viewPanelId(tab)}
        aria-labelledby={viewTabId(tab, tab.view)}
        data-area="view"
        tabIndex={-1}
      >
        <ResultView app={app} tab={tab} session={session} />
      </div>
    </>
  );
}

function AnswerFacts({ answer, isOld }: { readonly answer: Answer; readonly isOld: boolean }): JSX.Element {
  const { end, timing } = answer;
  const text = answerText({ rows: answer.rows.rowCount.value, end, timing });
  return <span class="facts">{isOld ? `Earlier answer: ${text}` : text}</span>;
}

/** Says that rows are missing, and how to see them. */
function Incomplete(props: { readonly answer: Answer; readonly onKeep: (() => void) | undefined }): JSX.Element | null {
  const { answer, onKeep } = props;
  const text = incompleteText(answer.end, answer.rows.rowCount.value);
  if (text === undefined) return null;
  return (
    <p class="incomplete" role="status">
      {text}
      {answer.end === 'limited' && onKeep && (
        <button type="button" onClick={onKeep}>
          Keep… <Key of="k" />
        </button>
      )}
    </p>
  );
}

function ResultView(props: {
  readonly app: AppState;
  readonly tab: QueryTab;
  readonly session: QuerySession;
}): JSX.Element {
  const { app, tab, session } = props;
  const answer = session.runner.answer.value;
  const explained = session.explained.value;
  if (tab.view === 'plan') {
    if (!explained) return <Nothing text="Explain shows how a statement runs, and how long each step takes." />;
    return <PlanPane app={app} sql={explained.sql} engine={explained.engine} request={explained} />;
  }
  if (!answer) return <Nothing text="Rows appear here when a statement has run." />;
  if (tab.view === 'rows') {
    return (
      <Grid key={keyOf(answer)} source={answer.rows} label={`Rows of ${tab.title}`} actions={actionsOf(app, answer)} />
    );
  }
  // The SQL of charts and summaries reads the whole answer; rows that are all here need none.
  const source = sourceOf(answer);
  if (tab.view === 'summary') {
    // An answer that was limited has more rows than are here.
    const rowCount = source.rows?.rowCount.value;
    return <SummaryPane key={keyOf(answer)} app={app} source={source} rowCount={rowCount} />;
  }
  const onChoice = (chart: NonNullable<QueryTab['chart']>): void => app.updateTab(tab.id, { chart });
  return <ChartPane key={keyOf(answer)} app={app} data={source} choice={tab.chart} onChoice={onChoice} />;
}

function Nothing({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class="empty">
      <p>{text}</p>
    </div>
  );
}

/** A component of one answer must not keep anything for the next. */
const keys = new WeakMap<AnswerRows, string>();

function keyOf({ rows }: Answer<AnswerRows>): string {
  const key = keys.get(rows) ?? uniqueId();
  keys.set(rows, key);
  return key;
}

function sourceOf({ request, rows, end }: Answer<AnswerRows>): ChartSource {
  const { sql, engine } = request;
  const source = { columns: rows.columns, from: subqueryOf(sql), engine };
  return end === 'complete' || engine === 'tsdb' ? { ...source, rows } : source;
}

/** Sorting and filtering make a new statement of the old one: it opens in a tab, and does not run by itself. */
function actionsOf(app: AppState, { request, rows }: Answer<AnswerRows>): GridActions {
  const { sql, engine } = request;
  if (!/^\s*(?:select|with|from|values|table|\()/i.test(sql)) return {};
  const sqlRows = { from: subqueryOf(sql), columns: rows.columns, engine };
  return sqlActions({ app, source: rows, rows: sqlRows, open: (text) => app.openQuery(text, engine) });
}
