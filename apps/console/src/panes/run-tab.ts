import type { AppState } from '../state/app-state.ts';

/** The code of query tabs, which the page loads when it shows the first one. */
export const loadQueryCode = async () => (await import('../query/query-code.ts')).queryCode;

/** Runs the statement of a query tab. */
export async function runTab(app: AppState, id: string): Promise<void> {
  const { sessionsOf } = await loadQueryCode();
  sessionsOf(app).of(id).run();
}

/** Opens a query over the frames of this server and runs it: only for SQL that the console wrote, which reads. */
export async function runNewQuery(app: AppState, sql: string): Promise<void> {
  app.openQuery(sql, 'local');
  const id = app.currentTab.peek()?.id;
  if (id !== undefined) await runTab(app, id);
}
