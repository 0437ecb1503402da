import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import '../style/chart.css';
import '../style/plan.css';
import '../style/summary.css';
import type { EngineName } from '../api/types.ts';
import { AskBar } from '../chart/AskBar.tsx';
import { createAsking } from '../chart/asking.ts';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatCount } from '../state/format.ts';
import { fromLeaves, parsePlan, percentText, type Plan, type PlanNode, secondsText } from './plan.ts';

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
