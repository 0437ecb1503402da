import type { JSX } from 'preact';
import type { ColumnInfo } from '../api/api.ts';
import { visibleText } from '../rows/row-source.ts';
import type { Aggregate, ChartChoice } from '../state/tabs.ts';
import { isTime } from './axis.ts';
import { canBeX, canBeY, canSplit, MAX_SERIES, withKind } from './choose.ts';

const KINDS = [
  ['line', 'Line'],
  ['bar', 'Bars'],
  ['histogram', 'Histogram'],
  ['ohlc', 'OHLC'],
] as const;
const AGGREGATES: readonly Aggregate[] = ['sum', 'mean', 'min', 'max'];
const OHLC = ['Open', 'High', 'Low', 'Close'];

interface Props {
  readonly columns: readonly ColumnInfo[];
  readonly choice: ChartChoice;
  readonly onChoice: (choice: ChartChoice) => void;
}

/** The kind of the chart and its columns. */
export function ChartControls({ columns, choice, onChoice }: Props): JSX.Element {
  const { kind } = choice;
  const xs = columns.filter((column) => canBeX(kind, column));
  const ys = columns.filter((column) => canBeY(kind, column));
  const changeBy = (by: string): void => {
    const { by: _, ...rest } = choice;
    onChoice(by === '' ? rest : { ...rest, by, y: rest.y.slice(0, 1) });
  };
  return (
    <fieldset class="chart-controls" aria-label="What the chart draws">
      <Select
        label="Chart"
        value={kind}
        options={KINDS}
        onChange={(value) => onChoice(withKind(choice, kindOf(value), columns))}
      />
      {kind !== 'histogram' && (
        <Select label="x" value={choice.x ?? ''} options={named(xs)} onChange={(x) => onChoice({ ...choice, x })} />
      )}
      <ValueColumns choice={choice} ys={ys} onChoice={onChoice} />
      {kind === 'line' && choice.y.length === 1 && (
        <Select
          label="Split by"
          value={choice.by ?? ''}
          options={[['', 'nothing'], ...named(columns.filter(canSplit))]}
          onChange={changeBy}
        />
      )}
      {kind === 'bar' && choice.y.length > 0 && (
        <Select
          label="Show the"
          value={choice.aggregate ?? 'sum'}
          options={AGGREGATES.map((name) => [name, name] as const)}
          onChange={(value) => onChoice({ ...choice, aggregate: AGGREGATES.find((name) => name === value) ?? 'sum' })}
        />
      )}
      {columns.some(({ name, type }) => name === choice.x && isTime(type)) && <span class="dim">UTC</span>}
    </fieldset>
  );
}

function kindOf(value: string): ChartChoice['kind'] {
  return KINDS.find(([kind]) => kind === value)?.[0] ?? 'line';
}

function named(columns: readonly ColumnInfo[]): (readonly [string, string])[] {
  return columns.map(({ name }) => [name, visibleText(name)] as const);
}

/** The drawn columns: one for a histogram, one or four for OHLC, up to six for lines and bars. */
function ValueColumns({
  choice,
  ys,
  onChoice,
}: Omit<Props, 'columns'> & { readonly ys: readonly ColumnInfo[] }): JSX.Element {
  const { kind, y } = choice;
  const set = (at: number, name: string): void => {
    const next = y.map((one, i) => (i === at ? name : one));
    onChoice({ ...choice, y: name === '' ? y.filter((_, i) => i !== at) : next });
  };
  const unused = ys.filter(({ name }) => !y.includes(name) && name !== choice.x);
  const canAdd =
    (kind === 'line' || kind === 'bar') && choice.by === undefined && y.length < MAX_SERIES && unused.length > 0;
  const canRemove = (kind === 'line' && y.length > 1) || kind === 'bar';
  return (
    <>
      {numbered(y).map(({ item: name, at }) => (
        <Select
          key={at}
          label={kind === 'ohlc' && y.length === 4 ? (OHLC[at] ?? 'y') : kind === 'histogram' ? 'Column' : 'y'}
          value={name}
          options={[...(canRemove ? [['', 'none'] as const] : []), ...named(ys)]}
          onChange={(value) => set(at, value)}
        />
      ))}
      {canAdd && (
        <Select
          label={y.length === 0 ? 'y' : 'and'}
          value=""
          options={[['', y.length === 0 ? 'rows' : '…'], ...named(unused)]}
          onChange={(value) => value !== '' && onChoice({ ...choice, y: [...y, value] })}
        />
      )}
      {kind === 'ohlc' && y.length === 1 && ys.length >= 4 && (
        <button type="button" onClick={() => onChoice({ ...choice, y: ys.slice(0, 4).map(({ name }) => name) })}>
          Four columns
        </button>
      )}
      {kind === 'ohlc' && y.length === 4 && (
        <button type="button" onClick={() => onChoice({ ...choice, y: y.slice(3) })}>
          One column
        </button>
      )}
    </>
  );
}

function Select(props: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, options, onChange } = props;
  const isListed = options.some(([name]) => name === value);
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {!isListed && <option value={value}>{visibleText(value)}</option>}
        {options.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Returns items with their places in the list: equal items may be there twice. */
export function numbered<T>(items: readonly T[]): { readonly at: number; readonly item: T }[] {
  return items.map((item, at) => ({ at, item }));
}
