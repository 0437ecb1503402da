import type { Schema } from 'apache-arrow';
import type { Cluster } from '../cluster.ts';
import type { BoundStatement } from '../driver.ts';
import { waitForStops } from '../wait-for-stops.ts';
import { connectSpark } from './connect-spark.ts';
import type { Execution } from './execution.ts';
import type { Plan } from './plan.ts';
import { createSparkSessions } from './spark-sessions.ts';
import { type StartedPlan, startPlan } from './start-plan.ts';

/** The statement that a plan belongs to. */
export type PlanOwner = Pick<BoundStatement, 'tag' | 'tenant' | 'trace'>;

/** Runs plans on a server, each in a session of its own. */
export interface PlanRunner {
  start(plan: Plan, owner: PlanOwner, signal: AbortSignal): Promise<StartedPlan>;
  /** Runs a plan to its end, and returns its columns. */
  columnsOf(plan: Plan, owner: PlanOwner, signal: AbortSignal): Promise<Schema>;
  /** Forgets what the server can do: another one may listen there. */
  forget(): void;
  /** Stops all plans, and closes the connection even if the server does not confirm that soon. */
  close(): Promise<void>;
}

/** Creates a runner. It connects with the first plan. */
export function createPlanRunner(cluster: Cluster): PlanRunner {
  const connection = connectSpark(cluster);
  const sessions = createSparkSessions(connection.clientFor(undefined), cluster);
  const running = new Set<Execution>();

  function onExecution(execution: Execution): void {
    running.add(execution);
    void execution.ended.then(() => running.delete(execution));
  }

  async function start(plan: Plan, { tenant, tag, trace }: PlanOwner, signal: AbortSignal): Promise<StartedPlan> {
    const client = connection.clientFor(trace);
    const opened = await sessions.open(tenant, client, signal);
    return startPlan(client, { opened, plan, tag, signal, onExecution });
  }

  return {
    start,
    async columnsOf(plan, owner, signal) {
      const { schema, batches } = await start(plan, owner, signal);
      // A complete result need not be interrupted.
      for (let next = await batches.next(); next.done !== true;) next = await batches.next();
      return schema;
    },
    forget: () => sessions.forget(),
    async close() {
      const stops = [...running].map(async (execution) => execution.stop().then(() => execution.ended));
      await waitForStops([...stops, sessions.close()]);
      connection.close();
    },
  };
}
