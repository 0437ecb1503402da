import { cancelledError, ServiceError } from '@svc/errors';
import { orAborted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import type { RecordBatch, Schema } from 'apache-arrow';
import { ClientError, Status } from 'nice-grpc';
import {
  type BoundStatement,
  type Cluster,
  type Driver,
  type Remembered,
  rememberSuccess,
  schedulerFailed,
  waitForStops,
} from '../driver.ts';
import { type Execution, type StartedPlan, startPlan } from './execution.ts';
import { type Dialect, type Plan, planOf, probePlan, SAIL, SPARK } from './plan.ts';
import { invalidSql, refusalError, RefusedPlan, transportError } from './spark-errors.ts';
import {
  type ClientIdentity,
  cloneSession,
  connectSpark,
  isDisconnection,
  type OpenedSession,
  openSession,
  releaseSession,
  type SparkClient,
} from './spark-session.ts';

/** Creates the driver of a Spark Connect server: Spark, or another one with its protocol. */
export function createSparkDriver(cluster: Cluster): Driver {
  const plans = createPlanRunner(cluster);
  const dialect = rememberSuccess(() => probe((plan) => plans.columnsOf(plan, PROBE, probeTimeout())));
  // All waiting statements share one probe, so it does not end with the signal of one of them.
  const dialectOf = async (signal: AbortSignal): Promise<Dialect> => orAborted(dialect.get(), signal);

  async function describe(statement: BoundStatement, signal: AbortSignal): Promise<Schema> {
    const plan = planOf(statement, { dialect: await dialectOf(signal), limit: 0 });
    return plans.columnsOf(plan, statement, signal);
  }

  /** True if the server refuses a statement even without running it: then the statement is the reason, not the run. */
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
        const known = await dialectOf(signal);
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

/** A new cluster can take a minute for its first plan. */
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

/** The statement of a plan. */
type PlanOwner = Pick<BoundStatement, 'tag' | 'tenant' | 'trace'>;

/** Runs plans on a server, each in a session of its own. */
interface PlanRunner {
  start(plan: Plan, owner: PlanOwner, signal: AbortSignal): Promise<StartedPlan>;
  /** Runs a plan to its end, and returns its columns. */
  columnsOf(plan: Plan, owner: PlanOwner, signal: AbortSignal): Promise<Schema>;
  /** Forgets what the server can do: another one may listen there. */
  forget(): void;
  /** Stops all plans, and closes the connection even without a confirmation of the server. */
  close(): Promise<void>;
}

/** Creates a runner. It connects with the first plan. */
function createPlanRunner(cluster: Cluster): PlanRunner {
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
  /** Tries to clone sessions again next time: another server may listen there. */
  forget(): void;
  /** Ends the sessions without a statement. */
  close(): Promise<void>;
}

/** The number of tenants whose template is kept. */
const MAX_TEMPLATES = 32;

/**
 * Settings of a session without classes. Spark compiles the code of a statement once for all these sessions;
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
      // All waiting statements share the template, so it does not end with the signal of one of them.
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
