import type { AppState } from '../state/app-state.ts';

/** Opens a query over the frames of this server and runs it: only for SQL that the console wrote, which reads. */
export async function runNewQuery(app: AppState, sql: string): Promise<void> {
  app.openQuery(sql, 'local');
  const id = app.currentTab.peek()?.id;
  const { sessionsOf } = await import('../query/sessions.ts');
  if (id !== undefined) sessionsOf(app).of(id).run();
}
