import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import '../style/chart.css';
import '../style/plan.css';
import '../style/summary.css';
import type { EngineName } from '../api/api.ts';
import { AskBar, createAsking } from './AskBar.tsx';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatCount } from '../state/format.ts';

export interface PlanPaneProps {
  readonly app: AppState;
  /** The statement, without a semicolon. */
  readonly sql: string;
  readonly engine: EngineName;
  /** What the user asked for: a new object explains the statement at once, and its plan is kept with it. */
  readonly request?: object;
}

type Answer =
  { readonly sql: string; readonly plan: Plan } | { readonly sql: string; readonly lines: readonly string[] };

/** The plans of requests: another view and back does not run a statement again. */
const answers = new WeakMap<object, Answer>();

/** How the engine ran a statement. Explaining runs the statement, so it waits for the user. */
export function PlanPane({ app, sql, engine, request }: PlanPaneProps): JSX.Element {
  const asking = useMemo(() => createAsking(app.api), [app]);
  const [answer, setAnswer] = useState<Answer | undefined>(() => request && answers.get(request));
  const { isRunning } = asking.state.value;
  const explain = (): void => {
    void asking
      .run(engine, (ask) => readPlan(sql, engine, ask))
      .then((plan) => {
        if (!plan) return;
        if (request) answers.set(request, plan);
        setAnswer(plan);
        app.announce('The plan is here.');
      });
  };
  useEffect(() => {
    if (!request || engine === 'scheduler' || sql.trim() === '') return;
    const kept = answers.get(request);
    if (kept) setAnswer(kept);
    else explain();
    // Only the user's request runs the statement, not a change of its text.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [request]);
  useEffect(() => () => asking.cancel(), [asking]);
  if (engine === 'scheduler')
    return <p class="chart-empty">The scheduler does not show plans. Choose the engine local.</p>;
  const isOld = answer !== undefined && answer.sql !== sql;
  return (
    <div class="plan-pane">
      <div class="plan-head">
        <button type="button" disabled={isRunning || sql.trim() === ''} onClick={explain}>
          {answer ? 'Explain again' : 'Explain'}
        </button>
        <span class="chart-note">
          {engine === 'local' ? 'Runs the statement and measures each operator.' : 'Asks the database for its plan.'}
          {isOld && ' The statement has changed since.'}
        </span>
      </div>
      <AskBar asking={asking} label="Explaining" retry={explain} />
      {answer && ('plan' in answer ? <PlanView plan={answer.plan} /> : <pre>{answer.lines.join('\n')}</pre>)}
    </div>
  );
}

async function readPlan(
  sql: string,
  engine: EngineName,
  ask: (sql: string) => Promise<{ readonly rows: readonly (readonly unknown[])[] }>,
): Promise<Answer> {
  if (engine !== 'local') {
    const { rows } = await ask(`EXPLAIN ${sql}`);
    return { sql, lines: rows.map(([line]) => String(line)) };
  }
  const { rows } = await ask(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`);
  const value = rows[0]?.[1];
  const text = typeof value === 'string' ? value : '';
  const plan = parsePlan(text);
  return plan ? { sql, plan } : { sql, lines: text.split('\n') };
}

function PlanView({ plan }: { readonly plan: Plan }): JSX.Element {
  return (
    <>
      <p class="chart-note">
        {secondsText(plan.seconds)} in all, {secondsText(plan.cpuSeconds)} of all threads. Data flow up: widths are
        parts of the time, arrows carry rows.
      </p>
      {/* The table below says the same. */}
      <div class="plan-picture" aria-hidden="true">
        <Branch node={plan.root} />
      </div>
      <PlanTable plan={plan} />
    </>
  );
}

function Branch({ node }: { readonly node: PlanNode }): JSX.Element {
  return (
    <div class="plan-branch">
      <div class="plan-box">
        <div class="plan-share" style={{ width: `${Math.max(0.5, node.share * 100)}%` }} />
        <strong>{node.name}</strong>
        <span>
          {secondsText(node.seconds)} · {percentText(node.share)}
        </span>
        {node.details.slice(0, 3).map(([name, text]) => (
          <small key={name} title={text}>
            {name}: {text}
          </small>
        ))}
      </div>
      {node.children.length > 0 && (
        <div class="plan-children">
          {node.children.map((child) => (
            <div class="plan-child" key={child.id}>
              <span class="plan-arrow">↑ {countOf(child.rows, 'row')}</span>
              <Branch node={child} />
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function PlanTable({ plan }: { readonly plan: Plan }): JSX.Element {
  const titles = ['Operator', 'Time', 'Part', 'Rows out', 'Rows expected', 'Rows read', 'Details'];
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls what has the focus
    <section class="summary-scroll" aria-label="Operators from the leaves up" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {titles.map((title) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {fromLeaves(plan.root).map((node) => (
            <tr key={node.id}>
              <th scope="row">{node.name}</th>
              <td>{secondsText(node.seconds)}</td>
              <td>{percentText(node.share)}</td>
              <td>{formatCount(node.rows)}</td>
              <td>{node.expectedRows === undefined ? '–' : formatCount(node.expectedRows)}</td>
              <td>{node.rowsScanned > 0 ? formatCount(node.rowsScanned) : '–'}</td>
              <td class="plan-details">{node.details.map(([name, text]) => `${name}: ${text}`).join(' · ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

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
  /** The rows of its output. */
  readonly rows: number;
  /** The rows read from a file; 0 for other operators. */
  readonly rowsScanned: number;
  /** The rows the optimiser expected; undefined if it did not say. */
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

/** Returns the operators from the leaves up: each after its inputs. */
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

/** Returns a time in a fitting unit. */
export function secondsText(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return seconds >= 0.001 ? `${(seconds * 1000).toFixed(1)} ms` : `${(seconds * 1_000_000).toFixed(0)} µs`;
}

export function percentText(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
