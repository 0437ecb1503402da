import type { GridActions } from './Grid.tsx';
import type * as commands from './sql-commands.ts';

/** Returns the actions that make a new statement of the rows in a grid. The first rows do not wait for their code. */
export function sqlActions(target: commands.SqlTarget): GridActions {
  const act = (run: (code: typeof commands) => Promise<void>): void => {
    import('./sql-commands.ts').then(run).catch((error: Error) => target.app.notify(error.message));
  };
  return {
    sortBy: (column) => act(({ sortRows }) => sortRows(target, column)),
    filterEqual: (column, row) => act(({ filterRows }) => filterRows(target, column, row)),
  };
}
