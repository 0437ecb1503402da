import { orAborted } from '@svc/errors/internal';
import type { Schema } from 'apache-arrow';
import { ClientError, Status } from 'nice-grpc';
import type { Cluster } from '../cluster.ts';
import type { BoundStatement } from '../driver.ts';
import { type Remembered, rememberSuccess } from '../remember-success.ts';
import { waitForStops } from '../wait-for-stops.ts';
import { connectSpark, type SparkClient } from './connect-spark.ts';
import type { Execution } from './execution.ts';
import type { Plan } from './plan.ts';
import {
  type ClientIdentity,
  cloneSession,
  isDisconnection,
  type OpenedSession,
  openSession,
  releaseSession,
} from './spark-session.ts';
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

/** Opens the sessions of statements. */
interface SparkSessions {
  /** Opens a session for one statement of a tenant. The calls of the statement pass its trace on. */
  open(tenant: string, calls: SparkClient, signal: AbortSignal): Promise<OpenedSession>;
  /** Asks again next time whether the server can clone sessions: another server may listen there. */
  forget(): void;
  /** Ends the sessions that no statement has. */
  close(): Promise<void>;
}

/** The number of tenants whose template is kept. */
const MAX_TEMPLATES = 32;

/**
 * Settings of a session that is never given classes. Spark compiles the code of a statement once for all these sessions;
 * for any other one it does so again, in each of its processes, and Java runs new code slowly.
 */
const WITHOUT_CLASSES: Readonly<Record<string, string>> = {
  'spark.sql.artifact.isolation.enabled': 'false',
  'spark.sql.artifact.isolation.alwaysApplyClassloader': 'false',
};

type Template = Remembered<[], OpenedSession>;

/**
 * Creates the sessions of a connection. Spark reads `WITHOUT_CLASSES` before a request can set it, but a clone of a session
 * starts with the settings of that session. So each tenant has a template, in which nothing ever runs, and each
 * statement a clone of it. If the server cannot clone, a statement has a new session with our settings.
 */
function createSparkSessions(
  client: SparkClient,
  { userId, userAgent }: Pick<Cluster, 'userAgent' | 'userId'>,
): SparkSessions {
  const identityOf = (tenant: string): ClientIdentity => ({
    user: userId ?? tenant,
    clientType: userAgent === undefined ? 'svc' : `${userAgent} svc`,
  });

  const templates = new Map<string, Template>();
  let canClone = true;

  function templateOf(tenant: string): Template {
    const known = templates.get(tenant);
    const template =
      known ??
      rememberSuccess(() =>
        openSession(client, { ...identityOf(tenant), settings: WITHOUT_CLASSES }, new AbortController().signal),
      );
    // The most recently used one is the last.
    templates.delete(tenant);
    templates.set(tenant, template);
    const [oldest] = templates.keys();
    if (oldest !== undefined && templates.size > MAX_TEMPLATES) void drop(oldest);
    return template;
  }

  async function drop(tenant: string): Promise<void> {
    const template = templates.get(tenant);
    templates.delete(tenant);
    const opened = await template?.get().catch(() => undefined);
    if (opened !== undefined) await releaseSession(client, opened.session);
  }

  /** Returns a clone of the template; undefined if the server refuses it, or has lost the template. */
  async function clone(tenant: string, calls: SparkClient, signal: AbortSignal): Promise<OpenedSession | undefined> {
    const template = templateOf(tenant);
    try {
      // All statements that wait share the template, so it does not end with the signal of one of them.
      return await cloneSession(calls, await orAborted(template.get(), signal), signal);
    } catch (error) {
      if (!(error instanceof ClientError) || isDisconnection(error)) throw error;
      if (error.code === Status.UNIMPLEMENTED) canClone = false;
      if (templates.get(tenant) === template) void drop(tenant);
      return undefined;
    }
  }

  return {
    async open(tenant, calls, signal) {
      const cloned = canClone ? await clone(tenant, calls, signal) : undefined;
      return cloned ?? openSession(calls, identityOf(tenant), signal);
    },
    forget() {
      canClone = true;
    },
    async close() {
      await Promise.all([...templates.keys()].map(drop));
    },
  };
}
