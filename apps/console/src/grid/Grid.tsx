import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ClientError } from '@svc/client/internal';
import { copyText } from '../panes/copy-text.ts';
import { lazy } from '../panes/lazy.tsx';
import type { RowSource } from '../rows/row-source.ts';
import { formatCount } from '../state/format.ts';
import { type GridCommand, listenToInput } from './grid-input.ts';
import { createGridView, type GridView } from './grid-view.ts';
import { selectCell, selectedRange } from './selection.ts';

const overlays = () => import('./overlays.ts');
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

/** The grid that had the focus when it left the page: the next one with its name, of a newer version or answer, takes it. */
let lostFocus: string | undefined;

/** Shows rows, any number of them: only what is in view is loaded and painted. */
export function Grid({ source, label, actions }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<GridView>();
  const latest = useRef(actions);
  latest.current = actions;
  const [open, setOpen] = useState<Open>();
  const [status, setStatus] = useState('');
  // Before the paint: a grid that takes the place of another has the focus before the next key.
  useLayoutEffect(() => {
    const created = createGridView(source, label);
    view.current = created;
    listenToInput(created, (command) => run(created, command, latest.current, setOpen, setStatus));
    box.current?.append(created.element);
    if (lostFocus === label && document.activeElement === document.body) created.scroller.focus();
    lostFocus = undefined;
    created.repaint();
    // So that they open before the next key.
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
      void copy(view, command === 'copy-with-heads', setStatus);
  }
}

const STATUS_MS = 4000;

async function copy({ state }: GridView, withHeads: boolean, setStatus: (status: string) => void): Promise<void> {
  const range = selectedRange(state.selection);
  const cells = (range.lastRow - range.firstRow + 1) * (range.lastColumn - range.firstColumn + 1);
  try {
    if (cells > 1000) setStatus(`Copying ${formatCount(cells)} cells…`);
    const { rangeAsTsv } = await overlays();
    await copyText(await rangeAsTsv(state.source, range, { withHeads }));
    setStatus(cells === 1 ? 'Copied the cell.' : `Copied ${formatCount(cells)} cells.`);
  } catch (error) {
    setStatus(error instanceof Error ? error.message : String(error));
  }
  setTimeout(() => setStatus(''), STATUS_MS);
}
