import type { AppState } from '../state/app-state.ts';

/** Runs the statement of a query tab. */
export async function runTab(app: AppState, id: string): Promise<void> {
  const { sessionsOf } = await import('../query/session.ts');
  sessionsOf(app).of(id).run();
}

/** Opens a query over the frames of this server and runs it: only for the console's own SQL. It reads. */
export async function runNewQuery(app: AppState, sql: string): Promise<void> {
  app.openQuery(sql, 'local');
  const id = app.currentTab.peek()?.id;
  if (id !== undefined) await runTab(app, id);
}
