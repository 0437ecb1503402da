import { toError } from '../api/api.ts';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ClientError } from '@svc/client/internal';
import { lazy } from '../widgets/lazy.tsx';
import type { RowSource } from '../rows/row-source.ts';
import { type GridCommand, listenToInput } from './grid-input.ts';
import { createGridView, type GridView } from './grid-view.ts';
import { selectCell } from './grid-state.ts';
import type * as commands from './sql-commands.ts';

const overlays = () => import('./overlays.tsx');
const CellSheet = lazy(async () => (await overlays()).CellSheet);
const GoTo = lazy(async () => (await overlays()).GoTo, null);

/** After the first rows are painted; Safari has no idle callbacks. */
const OVERLAYS_MS = 200;

/** What the page can do with a column or a cell. */
export interface GridActions {
  readonly sortBy?: (column: number) => void;
  readonly filterEqual?: (column: number, row: number) => void;
}

interface Props {
  readonly source: RowSource;
  /** The name of the grid for screen readers. */
  readonly label: string;
  readonly actions: GridActions;
}

type Open = { readonly kind: 'cell'; readonly row: number; readonly column: number } | { readonly kind: 'go-to' };

/** The name of a grid removed with the focus: the next one of this name, of a newer version or answer, takes it. */
let lostFocus: string | undefined;

/** Shows rows, any number of them: only what is in view is loaded and painted. */
export function Grid({ source, label, actions }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<GridView>();
  const latest = useRef(actions);
  latest.current = actions;
  const [open, setOpen] = useState<Open>();
  const [status, setStatus] = useState('');
  // Before the paint: the grid takes the focus of the one before ahead of the next key.
  useLayoutEffect(() => {
    const created = createGridView(source, label);
    view.current = created;
    listenToInput(created, (command) => run(created, command, latest.current, setOpen, setStatus));
    box.current?.append(created.element);
    if (lostFocus === label && document.activeElement === document.body) created.scroller.focus();
    lostFocus = undefined;
    created.repaint();
    // They should open before the next key.
    const timer = setTimeout(() => void overlays().catch(() => {}), OVERLAYS_MS);
    return () => {
      clearTimeout(timer);
      lostFocus = document.activeElement === created.scroller ? label : undefined;
      created.close();
      created.element.remove();
    };
  }, [source, label]);
  const close = (): void => {
    setOpen(undefined);
    view.current?.scroller.focus();
  };
  const failure = source.failure.value;
  return (
    <div class="grid-box" ref={box}>
      {failure !== undefined && (
        <div class="grid-failure" role="alert">
          <span>The rows could not be loaded: {failure.message}</span>
          {failure instanceof ClientError && failure.hint !== undefined && <span>{failure.hint}</span>}
          <button type="button" onClick={() => source.retry()}>
            Try again
          </button>
        </div>
      )}
      <output class="grid-status">{status}</output>
      {open?.kind === 'go-to' && (
        <GoTo
          source={source}
          onClose={close}
          onGo={(target) => {
            const grid = view.current;
            if (grid !== undefined) goTo(grid, target);
            close();
          }}
        />
      )}
      {open?.kind === 'cell' && <CellSheet source={source} row={open.row} column={open.column} onClose={close} />}
    </div>
  );
}

function goTo(view: GridView, target: { readonly row: number } | { readonly column: number }): void {
  const { row, column } = view.state.selection;
  view.select('row' in target ? selectCell(target.row, column) : selectCell(row, target.column));
}

function run(
  view: GridView,
  command: GridCommand,
  actions: GridActions,
  setOpen: (open: Open) => void,
  setStatus: (status: string) => void,
): void {
  const { selection, source } = view.state;
  const { row, column } = selection;
  if (row >= source.rowCount.peek() || column >= source.columns.length) return;
  switch (command) {
    case 'open':
      setOpen({ kind: 'cell', row, column });
      return;
    case 'go-to':
      setOpen({ kind: 'go-to' });
      return;
    case 'sort':
      actions.sortBy?.(column);
      return;
    case 'filter':
      actions.filterEqual?.(column, row);
      return;
    case 'copy':
    case 'copy-with-heads':
      overlays().then(
        ({ copyCells }) => copyCells({ source, selection }, command === 'copy-with-heads', setStatus),
        (error: unknown) => setStatus(toError(error).message),
      );
  }
}

/** Returns the actions to sort and filter by a new statement. The first rows do not wait for their code. */
export function sqlActions(target: commands.SqlTarget): GridActions {
  const act = (command: (code: typeof commands) => Promise<void>): void => {
    import('./sql-commands.ts').then(command).catch((error: Error) => target.app.notify(error.message));
  };
  return {
    sortBy: (column) => act(({ sortRows }) => sortRows(target, column)),
    filterEqual: (column, row) => act(({ filterRows }) => filterRows(target, column, row)),
  };
}
