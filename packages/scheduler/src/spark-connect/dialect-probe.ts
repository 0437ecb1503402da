import { orAborted } from '@svc/errors/internal';
import { rememberSuccess } from '../remember-success.ts';
import { schedulerFailed } from '../scheduler-failed.ts';
import { type Dialect, type Plan, probePlan, SAIL, SPARK } from './plan.ts';
import { RefusedPlan } from './spark-errors.ts';

/** Finds out how a server takes names and schemas. */
export interface DialectProbe {
  /** Returns the dialect. The server is asked once. */
  get(signal: AbortSignal): Promise<Dialect>;
  /** Asks again next time: another server may listen there. */
  forget(): void;
}

/** Creates a probe. `run` runs a plan. */
export function createDialectProbe(run: (plan: Plan) => Promise<unknown>): DialectProbe {
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
