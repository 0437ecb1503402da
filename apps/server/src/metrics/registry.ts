import { type MetricName, type MetricOf, type MetricRow, METRICS } from './metric-table.ts';

/** One series of a counter or a gauge. */
export interface Sample {
  value: number;
}

/** One series of a histogram. */
export interface Histogram {
  observe(value: number): void;
}

/** The metrics of a process. */
export interface Registry {
  /** Returns the series of these label values, in the order of the table; it is created on first use. */
  sample(name: MetricOf<'counter' | 'gauge'>, ...values: readonly string[]): Sample;
  histogram(name: MetricOf<'histogram'>, ...values: readonly string[]): Histogram;
  /** Writes all series in a text format, in pieces: with many tenants, the whole takes long. */
  format(format: 'prometheus' | 'openmetrics'): Iterable<string>;
  /** The number of series in `format`. */
  size(): number;
}

/** Options of `createRegistry`. */
export interface RegistryOptions {
  /** Some metrics have the label `tenant`, last. */
  readonly hasTenants: boolean;
}

/** Creates a registry without series. */
export function createRegistry({ hasTenants }: RegistryOptions): Registry {
  const families = new Map<string, Family>();
  for (const [name, row] of Object.entries<MetricRow>(METRICS)) {
    const family = createFamily(row, hasTenants);
    // Rates need a 0 before the first event of a counter.
    if (row.type === 'counter' && row.labels === undefined) family.series([]);
    families.set(name, family);
  }

  function seriesOf(name: MetricName, values: readonly string[]): Series {
    const family = families.get(name);
    if (family === undefined) throw new Error(`There is no metric ${name}.`);
    return family.series(values);
  }

  return {
    sample: (name, ...values) => seriesOf(name, values),
    histogram: (name, ...values) => seriesOf(name, values),
    *format(format) {
      let piece = '';
      for (const [name, family] of families) {
        for (const text of family.write(name, format)) {
          piece += text;
          if (piece.length < PIECE_CHARACTERS) continue;
          yield piece;
          piece = '';
        }
      }
      yield format === 'openmetrics' ? `${piece}# EOF\n` : piece;
    },
    size: () => [...families.values()].reduce((sum, family) => sum + family.size(), 0),
  };
}

const PIECE_CHARACTERS = 64 * 1024;

/** A metric with all of its series. */
interface Family {
  series(values: readonly string[]): Series;
  /** Writes each series as lines. */
  write(name: string, format: 'prometheus' | 'openmetrics'): Iterable<string>;
  size(): number;
}

function createFamily(row: MetricRow, hasTenants: boolean): Family {
  const { type, help, buckets = [] } = row;
  const names = [...(row.labels ?? []), ...(hasTenants && row.hasTenant === true ? ['tenant'] : [])];
  const series = new Map<string, Series>();
  return {
    series(values) {
      // Not the labels as they are written: escaping them for every event costs more than counting it.
      const key = values.length === 1 ? (values[0] ?? '') : values.join('\0');
      let found = series.get(key);
      if (found === undefined) {
        if (values.length !== names.length) throw new Error(`Expected the labels ${names.join(', ')}.`);
        const labels = names.map((name, i) => `${name}="${escaped(values[i] ?? '')}"`);
        found = new Series(labels.join(','), buckets);
        series.set(key, found);
      }
      return found;
    },
    *write(name, format) {
      if (series.size === 0) return;
      // The name of a counter has its suffix only in the samples of OpenMetrics.
      const family = format === 'openmetrics' ? name.replace(/_total$/, '') : name;
      yield `# HELP ${family} ${escapedHelp(help, format)}\n# TYPE ${family} ${type}\n`;
      for (const one of series.values()) yield one.text(name);
    },
    size: () => series.size * (type === 'histogram' ? buckets.length + HISTOGRAM_EXTRAS : 1),
  };
}

/** The bucket without a bound, the sum and the count. */
const HISTOGRAM_EXTRAS = 3;

/** A class: its fields are changed with every request. */
class Series implements Sample, Histogram {
  value = 0;
  readonly #labels: string;
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;

  constructor(labels: string, bounds: readonly number[]) {
    this.#labels = labels;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] ?? 0)) i += 1;
    this.#counts[i] = (this.#counts[i] ?? 0) + 1;
    this.value += value;
  }

  text(name: string): string {
    const labels = this.#labels;
    const braces = labels === '' ? '' : `{${labels}}`;
    if (this.#bounds.length === 0) return `${name}${braces} ${this.value}\n`;
    const separator = labels === '' ? '' : ',';
    let count = 0;
    let text = '';
    this.#counts.forEach((one, i) => {
      count += one;
      text += `${name}_bucket{${labels}${separator}le="${boundText(this.#bounds[i])}"} ${count}\n`;
    });
    return `${text}${name}_sum${braces} ${this.value}\n${name}_count${braces} ${count}\n`;
  }
}

/** A bound as OpenMetrics writes it: always with a fraction. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Only OpenMetrics escapes quotes in the help. */
function escapedHelp(text: string, format: 'prometheus' | 'openmetrics'): string {
  return format === 'openmetrics' ? escaped(text) : text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
