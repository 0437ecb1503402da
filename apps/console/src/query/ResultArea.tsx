import { useCommands } from '../widgets/hooks.ts';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { subqueryOf } from '../chart/chart-sql.ts';
import type { ChartSource } from '../chart/chart-reader.ts';
import { type GridActions, sqlActions } from '../grid/Grid.tsx';
import { ErrorBox } from '../widgets/ErrorBox.tsx';
import { Key } from '../widgets/Key.tsx';
import { lazy } from '../widgets/lazy.tsx';
import { type ViewChoice, ViewPanel, ViewTabs } from '../widgets/ViewTabs.tsx';
import type { AnswerRows } from '../rows/answer-rows.ts';
import type { AppState } from '../state/app-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import { type Answer, answerText, incompleteText, type RunRequest } from './run.ts';
import type { QuerySession } from './session.ts';
import { uniqueId } from '@svc/client/internal';
import { useRef } from 'preact/hooks';
import { Icon } from '../widgets/Icon.tsx';
import { downloadAnswer, type DownloadFormat, downloadFormats } from '../api/download.ts';
import { toError } from '../api/api.ts';

const Grid = lazy(async () => (await import('../grid/Grid.tsx')).Grid);
const ChartPane = lazy(async () => (await import('../chart/ChartPane.tsx')).ChartPane);
const SummaryPane = lazy(async () => (await import('../chart/SummaryPane.tsx')).SummaryPane);
const PlanPane = lazy(async () => (await import('../chart/PlanPane.tsx')).PlanPane);

const VIEWS: readonly ViewChoice[] = [
  { view: 'rows', title: 'Rows' },
  { view: 'chart', title: 'Chart' },
  { view: 'summary', title: 'Summary' },
  { view: 'plan', title: 'Plan' },
];

/** What the parts of a query tab share. */
export interface QueryParts {
  readonly app: AppState;
  readonly tab: QueryTab;
  readonly session: QuerySession;
}

/** Undefined if there is nothing to keep. */
export interface KeepProps {
  readonly onKeep: (() => void) | undefined;
}

/** The outcome of the last statement: its error, and the last answer in the chosen view. */
export function ResultArea({ app, tab, session, onKeep }: QueryParts & KeepProps): JSX.Element {
  const state = session.runner.state.value;
  const answer = session.runner.answer.value;
  const downloadError = useSignal<Error | undefined>(undefined);
  const error = state.kind === 'failed' ? state.error : downloadError.value;
  // The answer of an earlier statement stays, but must not look like the last one's.
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
      <ViewPanel tab={tab} look={isOld ? 'old' : ''}>
        <ResultView app={app} tab={tab} session={session} />
      </ViewPanel>
    </>
  );
}

function AnswerFacts({ answer, isOld }: { readonly answer: Answer; readonly isOld: boolean }): JSX.Element {
  const { end, timing } = answer;
  const text = answerText({ rows: answer.rows.rowCount.value, end, timing });
  return <span class="facts">{isOld ? `Earlier answer: ${text}` : text}</span>;
}

/** Says if rows are missing, and how to see them. */
function Incomplete({ answer, onKeep }: KeepProps & { readonly answer: Answer }): JSX.Element | null {
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

function ResultView({ app, tab, session }: QueryParts): JSX.Element {
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
  // Charts and summaries run SQL over the whole answer, unless all rows are here.
  const source = sourceOf(answer);
  if (tab.view === 'summary') {
    // A limited answer has more rows than are here.
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

/** A button with the formats of a download of the whole answer. */
function DownloadMenu(props: {
  readonly app: AppState;
  readonly request: RunRequest;
  readonly fileName: string;
  readonly onError: (error: Error) => void;
}): JSX.Element {
  const { app, request, fileName, onError } = props;
  const details = useRef<HTMLDetailsElement>(null);
  const isOpen = useSignal(false);
  const open = (): void => {
    if (!details.current) return;
    details.current.open = true;
    details.current.querySelector('button')?.focus();
  };
  const close = (): void => {
    if (!details.current?.open) return;
    details.current.open = false;
    details.current.querySelector('summary')?.focus();
  };
  const closeOnEscape = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen.value) return;
    event.preventDefault();
    close();
  };
  useCommands(app, [{ id: 'query.download', title: 'Download the answer', group: 'Query', key: 'd', run: open }], []);
  const save = (format: DownloadFormat): void => {
    close();
    const { sql, engine } = request;
    const maxRows = app.info.value?.limits.maxRows ?? null;
    downloadAnswer(app.api, { sql, engine, format, fileName, maxRows }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return;
      onError(toError(error));
    });
  };
  return (
    <details
      class="download-menu"
      ref={details}
      onToggle={(event) => (isOpen.value = event.currentTarget.open)}
      onFocusOut={(event) => {
        const next = event.relatedTarget;
        if (next instanceof Node && !event.currentTarget.contains(next)) event.currentTarget.open = false;
      }}
    >
      <summary title="Download the answer (D)" onKeyDown={closeOnEscape}>
        <Icon name="download" /> <span>Download</span>
      </summary>
      <ul>
        {downloadFormats(app.info.value, request.engine).map((format) => (
          <li key={format.format}>
            <button type="button" class="quiet" onKeyDown={closeOnEscape} onClick={() => save(format)}>
              {format.format}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
