/** An operator of a plan, with what it did when the statement ran. */
export interface PlanNode {
  /** Its place in the plan: `0.1` is the second child of the root. */
  readonly id: string;
  readonly name: string;
  /** What it works on: filters, columns, conditions. */
  readonly details: readonly (readonly [string, string])[];
  /** The time of this operator alone, summed over threads, in seconds. */
  readonly seconds: number;
  /** Its part of the time of all operators, from 0 to 1. */
  readonly share: number;
  /** The rows that leave it. */
  readonly rows: number;
  /** The rows that it read from a file; 0 for all others. */
  readonly rowsScanned: number;
  /** The rows that the optimiser expected; undefined if it did not say. */
  readonly expectedRows: number | undefined;
  readonly children: readonly PlanNode[];
}

/** A plan with the figures of one run. */
export interface Plan {
  readonly root: PlanNode;
  /** How long the statement took. */
  readonly seconds: number;
  /** The time of all threads. */
  readonly cpuSeconds: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** A plan deeper than this is not drawn. */
const MAX_DEPTH = 500;
const MAX_DETAIL = 1000;

/** Reads the JSON of `EXPLAIN (ANALYZE, FORMAT JSON)`; undefined if it is not a plan. */
export function parsePlan(text: string): Plan | undefined {
  const top = fieldsOf(parsed(text));
  const first = childrenOf(top)[0];
  if (!first) return undefined;
  // The operator of EXPLAIN itself is not part of the statement.
  const root = first['operator_name'] === 'EXPLAIN_ANALYZE' ? childrenOf(first)[0] : first;
  if (!root) return undefined;
  const total = timeOf(root, 0);
  return {
    root: nodeOf(root, total, '0', 0),
    seconds: numberOf(top['latency']),
    cpuSeconds: numberOf(top['cpu_time']),
  };
}

/** Returns the operators from the leaves up: each after those that it reads. */
export function fromLeaves(node: PlanNode): readonly PlanNode[] {
  return [...node.children.flatMap(fromLeaves), node];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function nodeOf(fields: Fields, total: number, id: string, depth: number): PlanNode {
  const info = fieldsOf(fields['extra_info']);
  const seconds = numberOf(fields['operator_timing']);
  const expected = Number(info['Estimated Cardinality'] ?? Number.NaN);
  const name = fields['operator_name'];
  return {
    id,
    name: (typeof name === 'string' ? name : 'UNKNOWN').trim().replaceAll('_', ' '),
    details: detailsOf(info),
    seconds,
    share: total > 0 ? seconds / total : 0,
    rows: numberOf(fields['operator_cardinality']),
    rowsScanned: numberOf(fields['operator_rows_scanned']),
    expectedRows: Number.isFinite(expected) ? expected : undefined,
    children:
      depth < MAX_DEPTH ? childrenOf(fields).map((child, at) => nodeOf(child, total, `${id}.${at}`, depth + 1)) : [],
  };
}

function timeOf(fields: Fields, depth: number): number {
  if (depth > MAX_DEPTH) return 0;
  return childrenOf(fields).reduce((sum, child) => sum + timeOf(child, depth + 1), numberOf(fields['operator_timing']));
}

function detailsOf(info: Fields): (readonly [string, string])[] {
  return Object.entries(info).flatMap(([name, value]) => {
    if (name === 'Estimated Cardinality') return [];
    const text = Array.isArray(value)
      ? value.map(String).join(', ')
      : typeof value === 'string'
        ? value
        : JSON.stringify(value);
    return text === '' ? [] : [[name, text.replaceAll('\n', ', ').slice(0, MAX_DETAIL)] as const];
  });
}

function childrenOf(fields: Fields): Fields[] {
  const { children } = fields;
  return Array.isArray(children) ? children.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** Returns a time with the unit that suits it. */
export function secondsText(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return seconds >= 0.001 ? `${(seconds * 1000).toFixed(1)} ms` : `${(seconds * 1_000_000).toFixed(0)} µs`;
}

export function percentText(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
