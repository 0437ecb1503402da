import { cancelledError, ServiceError } from '@svc/errors';
import { orAborted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { Cluster } from '../cluster.ts';
import type { BoundStatement, Driver } from '../driver.ts';
import { rememberSuccess } from '../remember-success.ts';
import { schedulerFailed } from '../scheduler-failed.ts';
import { createPlanRunner, type PlanOwner } from './plan-runner.ts';
import { type Dialect, type Plan, planOf, probePlan, SAIL, SPARK } from './plan.ts';
import { invalidSql, refusalError, RefusedPlan, transportError } from './spark-errors.ts';
import type { StartedPlan } from './start-plan.ts';

/** Creates the driver of a Spark Connect server: Spark, or another one that speaks its protocol. */
export function createSparkDriver(cluster: Cluster): Driver {
  const plans = createPlanRunner(cluster);
  const dialect = createDialectProbe((plan) => plans.columnsOf(plan, PROBE, probeTimeout()));

  async function describe(statement: BoundStatement, signal: AbortSignal): Promise<Schema> {
    const plan = planOf(statement, { dialect: await dialect.get(signal), limit: 0 });
    return plans.columnsOf(plan, statement, signal);
  }

  /** Whether the server refuses a statement even without running it: then the statement is the reason, not the run. */
  async function isRefused(statement: BoundStatement, signal: AbortSignal): Promise<boolean> {
    return describe(statement, signal).then(
      () => false,
      (error: unknown) => error instanceof RefusedPlan,
    );
  }

  /** Returns the error of a statement. */
  function explain(error: unknown, { sql }: BoundStatement, signal: AbortSignal): ServiceError {
    if (error instanceof ServiceError) return error;
    if (signal.aborted) return cancelledError(signal.reason);
    if (error instanceof RefusedPlan) return refusalError(error.refusal, sql, error.cause);
    dialect.forget();
    plans.forget();
    return transportError(error);
  }

  /** Runs the first step of a statement. A server without SQLSTATEs does not say whether it refuses or fails. */
  async function begin<T>(statement: BoundStatement, signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      const isUnnamed = error instanceof RefusedPlan && error.refusal.sqlState === '';
      if (isUnnamed && (await isRefused(statement, signal)))
        throw invalidSql(error.refusal, statement.sql, error.cause);
      throw explain(error, statement, signal);
    }
  }

  return {
    async query(statement, signal) {
      const { batches, ...rest } = await begin(statement, signal, async () => {
        const known = await dialect.get(signal);
        const started = await plans.start(planOf(statement, { dialect: known }), statement, signal);
        return { ...started, noticesMissingFiles: known.noticesMissingFiles };
      });
      return { ...rest, batches: withErrors(batches, (error) => explain(error, statement, signal)) };
    },
    async describe(statement, signal) {
      const attempt = (value: SqlValue): Promise<Schema> => {
        const bound = withParams(statement, value);
        return begin(bound, signal, () => describe(bound, signal));
      };
      try {
        return await attempt(null);
      } catch (error) {
        if (statement.parameters === 0 || !(error instanceof ServiceError) || error.code !== 'invalid_sql') throw error;
        // Some places take no null, such as LIMIT.
        return attempt(1).catch(() => Promise.reject(error));
      }
    },
    close: () => plans.close(),
  };
}

/** Returns the same batches, with another error if they fail. */
function withErrors(
  batches: StartedPlan['batches'],
  toError: (error: unknown) => ServiceError,
): AsyncIterable<RecordBatch> {
  const next = (): Promise<IteratorResult<RecordBatch>> =>
    batches.next().catch((error: unknown) => Promise.reject(toError(error)));
  return { [Symbol.asyncIterator]: () => ({ next, return: () => batches.return() }) };
}

const PROBE: PlanOwner = { tenant: 'svc', tag: 'svc-probe' };

/** A cluster that has just started can take a minute for its first plan. */
const PROBE_TIMEOUT_MS = 600_000;

function probeTimeout(): AbortSignal {
  const controller = new AbortController();
  const late = schedulerFailed(`The scheduler did not run a first plan within ${PROBE_TIMEOUT_MS} ms.`);
  setTimeout(() => controller.abort(late), PROBE_TIMEOUT_MS).unref();
  return controller.signal;
}

function withParams(statement: BoundStatement, value: SqlValue): BoundStatement {
  return { ...statement, params: Array.from({ length: statement.parameters }, () => value) };
}

/** Finds out how a server takes names and schemas. */
interface DialectProbe {
  /** Returns the dialect. The server is asked once. */
  get(signal: AbortSignal): Promise<Dialect>;
  /** Asks again next time: another server may listen there. */
  forget(): void;
}

/** Creates a probe. `run` runs a plan. */
function createDialectProbe(run: (plan: Plan) => Promise<unknown>): DialectProbe {
  const dialect = rememberSuccess(() => probe(run));
  // All statements that wait share one probe, so it does not end with the signal of one of them.
  return { get: (signal) => orAborted(dialect.get(), signal), forget: () => dialect.forget() };
}

/** Returns the first dialect whose probe the server accepts. */
async function probe(run: (plan: Plan) => Promise<unknown>): Promise<Dialect> {
  for (const dialect of [SPARK, SAIL]) {
    try {
      await run(probePlan(dialect));
      return dialect;
    } catch (error) {
      if (!(error instanceof RefusedPlan)) throw error;
    }
  }
  throw schedulerFailed('The scheduler does not accept named relations in a plan.', {
    hint: 'Check that scheduler.url points to a Spark Connect server of version 4.0 or newer.',
  });
}
