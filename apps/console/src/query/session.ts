import { ClientError } from '@svc/client/internal';
import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { type EngineName, toError } from '../api/api.ts';
import type { Editor } from '../editor/editor.ts';
import { errorPlace, type Statement, statementAt } from '../editor/statement-at.ts';
import { type AnswerRows, createAnswerRows } from '../rows/answer-rows.ts';
import type { AppState } from '../state/app-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import { createRunner, type EndState, outcomeText, type Runner } from './run.ts';
import { createWords, type Words } from '../editor/vocabulary.ts';

/** The state of a query tab until the next reload: its editor with the undo history, and its last answer. */
export interface QuerySession {
  readonly runner: Runner<AnswerRows>;
  /** Undefined until its code is loaded. */
  readonly editor: ReadonlySignal<Editor | undefined>;
  /** Why the editor could not be loaded. */
  readonly editorFailure: ReadonlySignal<Error | undefined>;
  /** The statement whose plan is shown. */
  readonly explained: ReadonlySignal<Explained | undefined>;
  loadEditor(): void;
  /** Runs what is selected, else the statement at the cursor. */
  run(): void;
  /** Shows the plan of it. */
  explain(): void;
  close(): void;
}

/** A statement whose plan is shown. */
export interface Explained {
  readonly sql: string;
  readonly engine: EngineName;
}

/** Creates the session of a tab. */
function createSession(app: AppState, words: Words, id: string): QuerySession {
  const editor = signal<Editor | undefined>(undefined);
  const editorFailure = signal<Error | undefined>(undefined);
  const explained = signal<Explained | undefined>(undefined);
  let isClosed = false;
  let stop = (): void => undefined;
  const findTab = (): QueryTab | undefined => {
    const tab = app.tabs.value.find((one) => one.id === id);
    return tab?.kind === 'query' ? tab : undefined;
  };

  const runner = createTabRunner(app, id, editor);

  function withChosen(act: (statement: Statement, tab: QueryTab) => void): void {
    const tab = untracked(findTab);
    const statement = chosenStatement(editor.peek(), tab);
    if (statement === undefined) app.announce('There is no statement at the cursor.');
    else if (tab) act(statement, tab);
  }

  function run(): void {
    withChosen(({ text, from }, tab) => {
      editor.peek()?.clearError();
      app.setBusy(id, true);
      if (tab.view === 'plan') app.setView(id, 'rows');
      void runner.run({ sql: text, engine: tab.engine, from });
    });
  }

  function explain(): void {
    withChosen(({ text }, tab) => {
      explained.value = { sql: text, engine: tab.engine };
      app.setView(id, 'plan');
    });
  }

  async function openEditor(): Promise<void> {
    const { createEditor } = await import('../editor/editor.ts');
    const tab = untracked(findTab);
    if (isClosed || editor.peek() || !tab) return;
    const created = createEditor({
      text: tab.sql,
      words: () => untracked(() => words.of(findTab()?.engine ?? 'local').value),
      onChange: (sql) => app.updateTab(id, { sql }),
      onRun: run,
      onExplain: explain,
    });
    editor.value = created;
    stop = followTab(created, findTab, words);
  }

  return {
    runner,
    editor,
    editorFailure,
    explained,
    run,
    explain,
    loadEditor() {
      if (editor.peek()) return;
      editorFailure.value = undefined;
      openEditor().catch((error: unknown) => {
        editorFailure.value = toError(error);
      });
    },
    close() {
      isClosed = true;
      stop();
      runner.close();
      editor.peek()?.close();
    },
  };
}

function createTabRunner(app: AppState, id: string, editor: ReadonlySignal<Editor | undefined>): Runner<AnswerRows> {
  const runner = createRunner<AnswerRows>({
    api: app.api,
    createRows: createAnswerRows,
    maxRows: () => app.info.value?.limits.maxRows ?? null,
    ended: (state, rows) => {
      app.setBusy(id, runner.state.peek().kind === 'running');
      report(app, state, rows);
      markError(state, editor.peek());
    },
  });
  return runner;
}

/** Returns what would run now: what is selected, else the statement at the cursor; without an editor, the last one. */
function chosenStatement(editor: Editor | undefined, tab: QueryTab | undefined): Statement | undefined {
  const text = editor?.text() ?? tab?.sql ?? '';
  const { from, to } = editor?.selection() ?? { from: text.length, to: text.length };
  const selected = text.slice(from, to);
  return selected.trim() === '' ? statementAt(text, to) : { from, to, text: selected };
}

/** Copies changes of a tab into its editor. Returns the function to end it. */
function followTab(editor: Editor, findTab: () => QueryTab | undefined, words: Words): () => void {
  const stopText = effect(() => {
    const tab = findTab();
    if (tab) untracked(() => editor.setText(tab.sql));
  });
  const stopWords = effect(() => {
    const engine = findTab()?.engine;
    if (engine === undefined || words.of(engine).value.keywords.length === 0) return;
    untracked(() => editor.refreshWords());
  });
  return () => {
    stopText();
    stopWords();
  };
}

/** Tells screen readers how a statement ended, and remembers it. */
function report(app: AppState, state: EndState, rows: number | undefined): void {
  app.announce(outcomeText(state, rows));
  const { request, elapsedMs, kind: outcome } = state;
  const { sql, engine } = request;
  app.history.add({ sql, engine, ranAtMs: Date.now(), outcome, elapsedMs, ...(rows !== undefined && { rows }) });
}

/** Marks the place of an error in the editor, unless the text has changed since. */
function markError(state: EndState, editor: Editor | undefined): void {
  if (state.kind !== 'failed' || editor === undefined || !(state.error instanceof ClientError)) return;
  const { position, message } = state.error;
  const { sql, from, engine } = state.request;
  const isThere = editor.text().slice(from, from + sql.length) === sql;
  if (position === undefined || !isThere) return;
  editor.showError(errorPlace({ from, to: from + sql.length, text: sql }, position, engine), message);
}

/** The sessions of the query tabs. They stay when another tab is shown, and end when their tab is closed. */
export interface QuerySessions {
  of(tabId: string): QuerySession;
}

/** The sessions of each app. They belong to it, but only this lazily loaded part of the page knows them. */
const byApp = new WeakMap<AppState, QuerySessions>();

/** Returns the sessions of an app. */
export function sessionsOf(app: AppState): QuerySessions {
  const sessions = byApp.get(app) ?? createSessions(app);
  byApp.set(app, sessions);
  return sessions;
}

function createSessions(app: AppState): QuerySessions {
  const words = createWords(app);
  const byTab = new Map<string, QuerySession>();
  effect(() => {
    const open = new Set(app.tabs.value.map(({ id }) => id));
    untracked(() => {
      for (const [id, session] of byTab) {
        if (open.has(id)) continue;
        byTab.delete(id);
        session.close();
      }
    });
  });
  // A page in the back-forward cache keeps its connections: its queries would run on.
  addEventListener('pagehide', () => {
    for (const session of byTab.values()) session.runner.cancel();
  });
  return {
    of(tabId) {
      const session = byTab.get(tabId) ?? createSession(app, words, tabId);
      byTab.set(tabId, session);
      return session;
    },
  };
}
