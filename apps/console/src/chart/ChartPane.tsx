import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import '../style/chart.css';
import { visibleText } from '../rows/row-source.ts';
import type { AppState } from '../state/app-state.ts';
import type { ChartChoice } from '../state/tabs.ts';
import { AskBar, confirmVersion, createAsking } from './AskBar.tsx';
import { type Move, MOVE_KEYS, moved, placeText, type Range, within } from './axis.ts';
import { ChartControls } from './ChartControls.tsx';
import { type ChartData, loadChart, pointsInView } from './load-chart.ts';
import type { ChartSource, Extent } from './chart-reader.ts';
import { chosenColumns, type ChosenColumns, defaultChoice } from './choose.ts';
import type { Drawing } from './draw.ts';
import { createMemoryReader, createSlices } from './memory-reader.ts';
import { createSqlReader } from './sql-reader.ts';
import { countOf } from '../state/format.ts';

export interface ChartPaneProps {
  readonly app: AppState;
  readonly data: ChartSource;
  /** Undefined: a chart to fit the columns. */
  readonly choice: ChartChoice | undefined;
  readonly onChoice: (choice: ChartChoice) => void;
}

/** The chart of a frame or an answer: it reads only what it draws, and again at every zoom. */
export function ChartPane({ app, data: source, choice: given, onChoice }: ChartPaneProps): JSX.Element {
  const choice = given ?? defaultChoice(source.columns);
  if (!choice) return <p class="chart-empty">No column has numbers, times or texts that a chart can draw.</p>;
  const columns = chosenColumns(choice, source.columns);
  return (
    <div class="chart-pane">
      <ChartControls columns={source.columns} choice={choice} onChoice={onChoice} />
      {typeof columns === 'string' ? (
        <p class="chart-empty">{columns}</p>
      ) : source.engine !== 'local' && !source.rows ? (
        <p class="chart-empty">
          Only an answer whose rows are all here can be drawn. Keep it as a frame, or limit its rows.
        </p>
      ) : (
        <Chart
          key={JSON.stringify([source.from, choice])}
          app={app}
          source={source}
          choice={choice}
          columns={columns}
        />
      )}
    </div>
  );
}

interface ChartProps {
  readonly app: AppState;
  readonly source: ChartSource;
  readonly choice: ChartChoice;
  readonly columns: ChosenColumns;
}

function Chart({ app, source, choice, columns }: ChartProps): JSX.Element {
  const asking = useMemo(() => createAsking(app.api), [app]);
  const [range, setRange] = useState<Range>();
  const [width, setWidth] = useState<number>();
  const [data, setData] = useState<ChartData>();
  const [isEmpty, setEmpty] = useState(false);
  const extent = useRef<Extent>();
  const load = (): void => {
    if (width === undefined) return;
    void asking
      .run(source.engine, async (ask, signal) => {
        await confirmVersion(app, source.frame, signal);
        const reader = source.rows
          ? createMemoryReader(source.rows, createSlices(signal))
          : createSqlReader(source, ask);
        const loaded = await loadChart(reader, { choice, columns, range, extent: extent.current, width });
        await confirmVersion(app, source.frame, signal);
        return loaded;
      })
      .then((loaded) => {
        if (!loaded) return;
        extent.current = loaded.extent;
        setEmpty(loaded.data === undefined);
        setData(loaded.data);
        if (loaded.data) app.announce(describe(loaded.data, columns));
      });
  };
  // The component is a new one if its source or its choice are others.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useEffect(load, [range, width, source.rows?.rowCount.value]);
  useEffect(() => () => asking.cancel(), [asking]);
  const move = (by: Move): void => {
    if (data?.extent) setRange(moved(data.range, data.extent, by));
  };
  const zoomTo = useCallback((to: Range) => setRange(data?.extent ? within(to, data.extent) : to), [data]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = MOVE_KEYS[event.key];
    if (by === undefined || !data?.extent || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(by);
  };
  return (
    <>
      <MoveButtons isOn={data?.extent !== undefined} isZoomed={range !== undefined} move={move} />
      <AskBar asking={asking} label="Reading the chart" retry={load} />
      {isEmpty && <p class="chart-empty">No row has a value to draw.</p>}
      {/* The chart takes keys of its own, as its name says. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        class="chart-host"
        role="application"
        aria-roledescription="chart"
        aria-label={data ? describe(data, columns) : 'Chart'}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onKeyDown={onKeyDown}
        onDblClick={() => setRange(undefined)}
      >
        <Picture app={app} data={data} onZoom={zoomTo} onWidth={setWidth} />
      </div>
      {data?.notes.map((note) => (
        <p key={note} class="chart-note">
          {note}
        </p>
      ))}
      {data && <PointsTable data={data} />}
    </>
  );
}

/** Describes a chart in a sentence, with its range and its keys. */
function describe(data: ChartData, columns: ChosenColumns): string {
  const names = data.series.map(({ label }) => label).join(', ');
  const over = columns.x ? ` by ${visibleText(columns.x.name)}` : ` of ${visibleText(columns.y[0]?.name ?? '')}`;
  const range = data.xAxis
    ? ` from ${placeText(data.xAxis, data.range.lo)} to ${placeText(data.xAxis, data.range.hi)}`
    : '';
  const keys = data.extent ? ' Plus and minus zoom, the arrows move, 0 shows all.' : '';
  return `${data.kind} chart: ${names}${over}${range}.${keys}`;
}

const MOVES: readonly (readonly [Move, string, string])[] = [
  ['left', '◀', 'Move left (←)'],
  ['right', '▶', 'Move right (→)'],
  ['in', '+', 'Zoom in (+)'],
  ['out', '−', 'Zoom out (−)'],
];

function MoveButtons(props: {
  readonly isOn: boolean;
  readonly isZoomed: boolean;
  readonly move: (move: Move) => void;
}): JSX.Element | null {
  if (!props.isOn) return null;
  return (
    <fieldset class="chart-moves" aria-label="Zoom">
      {MOVES.map(([by, sign, title]) => (
        <button type="button" key={by} title={title} aria-label={title} onClick={() => props.move(by)}>
          {sign}
        </button>
      ))}
      <button type="button" disabled={!props.isZoomed} onClick={() => props.move('all')}>
        Show all
      </button>
    </fieldset>
  );
}

function Picture(props: {
  readonly app: AppState;
  readonly data: ChartData | undefined;
  readonly onZoom: (range: Range) => void;
  readonly onWidth: (width: number) => void;
}): JSX.Element {
  const { app, data, onZoom, onWidth } = props;
  const host = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing>();
  const [size, setSize] = useState('');
  const theme = app.theme.value;
  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    onWidth(Math.max(100, Math.round((element.clientWidth - 88) * devicePixelRatio)));
    const observer = new ResizeObserver(() => setSize(`${element.clientWidth}x${element.clientHeight}`));
    observer.observe(element);
    return () => observer.disconnect();
  }, [onWidth]);
  useEffect(() => {
    let isGone = false;
    void import('./draw.ts').then(({ createDrawing }) => {
      if (isGone || !host.current) return;
      // The old picture stays until the new one is there.
      drawing.current?.destroy();
      drawing.current = data && createDrawing(host.current, data, { onZoom, onPlotWidth: onWidth });
    });
    return () => {
      isGone = true;
    };
  }, [data, size, theme, onZoom, onWidth]);
  useEffect(() => () => drawing.current?.destroy(), []);
  return <div class="chart-picture" ref={host} />;
}

const PAGE = 200;

/** The points of a chart as a table with exact values, for all who do not see the picture. */
export function PointsTable({ data }: { readonly data: ChartData }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState(PAGE);
  const { places, labels, xAxis, series } = data;
  const inView = pointsInView(data);
  const textOf = (at: number): string => {
    const place = places[at];
    return labels?.[at] ?? (xAxis && place !== undefined ? placeText(xAxis, place) : '');
  };
  return (
    <details class="points" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Table of {countOf(inView.length, 'point')}</summary>
      {isOpen && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls what has the focus
        <section class="points-scroll" aria-label="Points" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{data.xName}</th>
                {series.map(({ label }) => (
                  <th scope="col" key={label}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {inView.slice(0, shown).map((at) => (
                <tr key={at}>
                  <th scope="row">{textOf(at)}</th>
                  {series.map(({ label, texts }) => (
                    <td key={label}>{texts[at] === null ? <i>null</i> : texts[at]}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {shown < inView.length && (
            <button type="button" onClick={() => setShown(shown + PAGE)}>
              Show {Math.min(PAGE, inView.length - shown)} more
            </button>
          )}
        </section>
      )}
    </details>
  );
}
