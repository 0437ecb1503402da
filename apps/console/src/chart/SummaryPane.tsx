import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import '../style/chart.css';
import '../style/summary.css';
import { ClientError } from '@svc/client/internal';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatCount } from '../state/format.ts';
import { AskBar, confirmVersion, createAsking } from './AskBar.tsx';
import type { ChartSource } from './chart-reader.ts';
import { numbered } from './ChartControls.tsx';
import { placeText } from './axis.ts';
import { FrameReplaced } from '../rows/windows.ts';
import { visibleText } from '../rows/row-source.ts';
import { type ColumnSummary, FIRST_ROWS, MAX_ROWS, type SmallHistogram, summarise } from './summarise.ts';

export interface SummaryPaneProps {
  readonly app: AppState;
  readonly source: ChartSource;
  /** The number of rows, if it is known. */
  readonly rowCount: number | undefined;
}

type Result = { readonly summary: ColumnSummary } | { readonly error: string };

/** A row of figures for each column, computed one after the other. */
export function SummaryPane({ app, source, rowCount }: SummaryPaneProps): JSX.Element {
  const asking = useMemo(() => createAsking(app.api), [app]);
  const [results, setResults] = useState<readonly Result[]>([]);
  const isCut = !source.rows && (rowCount === undefined || rowCount > MAX_ROWS);
  const canRun = source.rows !== undefined || source.engine === 'local';
  const { columns, from } = source;
  const load = (): void => {
    if (!canRun) return;
    setResults([]);
    void asking.run(source.engine, async (ask, signal) => {
      await confirmVersion(app, source.frame, signal);
      for (const [index] of columns.entries()) {
        const result = await summarise(source, index, { ask, isCut, signal }).then(
          (summary): Result => ({ summary }),
          (error: unknown): Result => {
            // The type of this column does not allow the statement; anything else ends the summary.
            if (error instanceof ClientError && error.code === 'invalid_sql') return { error: error.message };
            throw error;
          },
        );
        await confirmVersion(app, source.frame, signal);
        setResults((before) => [...before, result]);
      }
      app.announce(`The summary of ${countOf(columns.length, 'column')} is complete.`);
    });
  };
  useEffect(() => {
    load();
    return () => asking.cancel();
    // Other objects for the same source are no reason to ask again.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [from, source.rows, rowCount]);
  const isReplaced = asking.state.value.failure instanceof FrameReplaced;
  const missing = isReplaced ? 'Not read: the frame has been replaced.' : '…';
  if (!canRun)
    return <p class="chart-empty">Only an answer whose rows are all here has a summary. Keep it as a frame.</p>;
  return (
    <div class="summary-pane">
      {isCut && (
        <p class="chart-note" role="note">
          {rowCount === undefined ? 'At most the' : 'The'} first {formatCount(FIRST_ROWS)} rows
          {rowCount !== undefined && ` of ${formatCount(rowCount)}`}.
        </p>
      )}
      <AskBar
        asking={asking}
        label={`Column ${Math.min(results.length + 1, columns.length)} of ${columns.length}`}
        retry={load}
      />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls what has the focus */}
      <section class="summary-scroll" aria-label="Summary of the columns" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {['Column', 'Values', 'Null', 'Distinct', 'Lowest', 'Highest', 'Mean'].map((title) => (
                <th scope="col" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {columns.map((column, at) => (
              <SummaryRow key={column.name} {...column} result={results[at]} missing={missing} />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

function SummaryRow(props: {
  readonly name: string;
  readonly type: string;
  readonly result: Result | undefined;
  /** What is shown without a result. */
  readonly missing: string;
}): JSX.Element {
  const { name, type, result, missing } = props;
  const head = (
    <th scope="row" title={visibleText(name)}>
      {visibleText(name)}
      <small>{type}</small>
    </th>
  );
  if (!result || 'error' in result) {
    return (
      <tr>
        {head}
        <td class="summary-picture" colSpan={6}>
          {result?.error ?? missing}
        </td>
      </tr>
    );
  }
  const { rows, nulls, distinct, min, max, mean, notFinite, histogram, top } = result.summary;
  return (
    <tr>
      {head}
      <td class="summary-picture">
        {histogram ? <Bars histogram={histogram} /> : <TopValues groups={top} rows={rows} />}
        {notFinite > 0 && <small>{formatCount(notFinite)} NaN or infinite</small>}
      </td>
      <td>
        {formatCount(nulls)}
        {nulls > 0 && <small>{share(nulls, rows)}</small>}
      </td>
      <td>{formatCount(distinct)}</td>
      <td class="summary-text" title={visibleText(min ?? '–')}>
        {visibleText(min ?? '–')}
      </td>
      <td class="summary-text" title={visibleText(max ?? '–')}>
        {visibleText(max ?? '–')}
      </td>
      <td>{mean ?? '–'}</td>
    </tr>
  );
}

function share(part: number, whole: number): string {
  const percent = (part / Math.max(1, whole)) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  return `${percent.toFixed(1)} %`;
}

function Bars({ histogram: { axis, range, counts } }: { readonly histogram: SmallHistogram }): JSX.Element {
  const most = Math.max(1, ...counts);
  const label = `Histogram from ${placeText(axis, range.lo)} to ${placeText(axis, range.hi)}: ${counts.join(', ')} rows`;
  return (
    <svg
      class="summary-bars"
      viewBox={`0 0 ${counts.length} 1`}
      preserveAspectRatio="none"
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an image element has no colours of the page
      role="img"
      aria-label={label}
    >
      {numbered(counts).map(({ item: count, at }) => (
        <rect key={at} x={at + 0.05} width={0.9} y={1 - count / most} height={count / most} />
      ))}
    </svg>
  );
}

function TopValues({ groups, rows }: { readonly groups: ColumnSummary['top']; readonly rows: number }): JSX.Element {
  return (
    <ol class="summary-top">
      {groups.map(({ key, rows: count }) => (
        <li key={String(key)} title={visibleText(String(key))}>
          <meter min={0} max={Math.max(1, rows)} value={count} aria-label={share(count, rows)} />
          <span>{key === null ? <i>null</i> : key === '' ? '""' : visibleText(String(key))}</span>
          <small>{formatCount(count)}</small>
        </li>
      ))}
    </ol>
  );
}
