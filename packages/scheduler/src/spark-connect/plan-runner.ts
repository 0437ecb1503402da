import type { Schema } from 'apache-arrow';
import type { Cluster } from '../cluster.ts';
import type { BoundStatement } from '../driver.ts';
import { waitForStops } from '../wait-for-stops.ts';
import { connectSpark } from './connect-spark.ts';
import type { Execution } from './execution.ts';
import type { Plan } from './plan.ts';
import { createSparkSessions } from './spark-sessions.ts';
import { type StartedPlan, startPlan } from './start-plan.ts';

/** Whom a plan belongs to. */
export interface PlanOwner extends Pick<BoundStatement, 'tag' | 'tenant' | 'trace'> {
  /** Whether the plan runs in a session that the statements of the tenant share. */
  readonly isSessionKept: boolean;
}

/** Runs plans on a server. */
export interface PlanRunner {
  /** Starts a plan, and reads its first batch. */
  start(plan: Plan, owner: PlanOwner, signal: AbortSignal): Promise<StartedPlan>;
  /** Runs a plan to its end, and returns its columns. */
  columnsOf(plan: Plan, owner: PlanOwner, signal: AbortSignal): Promise<Schema>;
  /** Stops all plans, ends the sessions and closes the connection, even if the server does not confirm that soon. */
  close(): Promise<void>;
}

/** Creates the runner of a cluster. It connects with the first plan. */
export function createPlanRunner(cluster: Cluster): PlanRunner {
  const connection = connectSpark(cluster);
  const sessions = createSparkSessions(connection.clientFor(undefined));
  const running = new Set<Execution>();

  function onExecution(execution: Execution): void {
    running.add(execution);
    void execution.ended.then(() => running.delete(execution));
  }

  async function start(plan: Plan, { trace, ...owner }: PlanOwner, signal: AbortSignal): Promise<StartedPlan> {
    return startPlan(connection.clientFor(trace), sessions, { plan, ...owner, signal, onExecution });
  }

  return {
    start,
    async columnsOf(plan, owner, signal) {
      const { schema, batches } = await start(plan, owner, signal);
      // A complete result need not be interrupted.
      for (let next = await batches.next(); next.done !== true;) next = await batches.next();
      return schema;
    },
    async close() {
      await waitForStops([...running].map(async (execution) => execution.stop().then(() => execution.ended)));
      await waitForStops([sessions.close()]);
      connection.close();
    },
  };
}
