import { type Partially, sparkConnect } from '@svc/proto';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { type CallContext, createServer, ServerError, type Status } from 'nice-grpc';

type Response = Partially<sparkConnect.ExecutePlanResponse>;
type Batch = Partially<sparkConnect.ExecutePlanResponseArrowBatch>;

/** What the server does after a number of responses of one stream. */
export interface Fault {
  readonly after: number;
  /** `end`: the stream ends as if it were complete. */
  readonly kind: Status | 'end';
  readonly message?: string;
}

/** A server that plays a result, with faults that a real engine cannot be made to have. */
export interface SparkServer {
  readonly port: number;
  /** The names of the calls for statements, in order; a reattachment has the last response in parentheses. */
  readonly calls: string[];
  /** The last value of each header of a call. */
  readonly authorizations: Set<string>;
  /** The `traceparent` of the calls, by name. */
  readonly traces: Map<string, string | undefined>;
  readonly requests: sparkConnect.ExecutePlanRequest[];
  /** The settings of each session that was opened, by its id. */
  readonly sessions: Map<string, ReadonlyMap<string, string>>;
  /** The number of responses that the server has produced. */
  produced(): number;
  close(): Promise<void>;
}

/** Options of `startSparkServer`. */
export interface SparkServerOptions {
  readonly batches: readonly Batch[] | (() => AsyncIterable<Batch>);
  /** The faults of the first stream, the second one, and so on. Default: none. */
  readonly faults?: readonly (Fault | undefined)[];
  /** The calls that fail with a status. */
  readonly refused?: Readonly<Record<string, Status>>;
  readonly details?: Partially<sparkConnect.FetchErrorDetailsResponse>;
  /** Resolves when a session may be opened. Default: at once. */
  readonly opened?: Promise<void>;
  /** Resolves when an interrupt may be answered. Default: at once. */
  readonly interrupted?: Promise<void>;
}

/** Returns a batch of one column. */
export function batchOf(values: readonly number[]): Batch {
  return {
    data: tableToIPC(tableFromArrays({ a: Int32Array.from(values) }), 'stream'),
    rowCount: BigInt(values.length),
  };
}

/** Starts a server. */
export async function startSparkServer(options: SparkServerOptions): Promise<SparkServer> {
  const faults = [...(options.faults ?? [])];
  const calls: string[] = [];
  const metadata = createMetadataLog();
  const requests: sparkConnect.ExecutePlanRequest[] = [];
  let produced = 0;

  function record(name: string, context: CallContext): void {
    calls.push(name);
    metadata.note(name, context);
    const status = options.refused?.[name];
    if (status !== undefined) throw new ServerError(status, `no ${name}`);
  }

  async function* play(lastResponseId: string | undefined): AsyncGenerator<Response> {
    const fault = faults.shift();
    let sent = 0;
    for await (const response of responsesOf(options.batches)) {
      if (lastResponseId !== undefined && Number(response.responseId) <= Number(lastResponseId)) continue;
      if (fault !== undefined && sent >= fault.after) {
        if (fault.kind === 'end') return;
        throw new ServerError(fault.kind, fault.message ?? 'cut');
      }
      sent++;
      produced++;
      yield response;
    }
  }

  const { sessions, ...sessionCalls } = createSessions(record, options);
  const server = createServer();
  server.add(sparkConnect.SparkConnectServiceDefinition, {
    async *executePlan(request, context) {
      // The probe finds Spark.
      if (request.tags.includes('svc-probe')) {
        yield { arrowBatch: batchOf([1]) };
        yield { resultComplete: {} };
        return;
      }
      record('executePlan', context);
      requests.push(request);
      yield* play(undefined);
    },
    async *reattachExecute({ lastResponseId }, context) {
      record(`reattachExecute(${lastResponseId ?? ''})`, context);
      yield* play(lastResponseId);
    },
    ...sessionCalls,
    async interrupt(_request, context) {
      record('interrupt', context);
      await options.interrupted;
      return {};
    },
    async releaseExecute({ releaseUntil, releaseAll }, context) {
      record(`releaseExecute(${releaseUntil?.responseId ?? (releaseAll && 'all')})`, context);
      return {};
    },
    async fetchErrorDetails() {
      return options.details ?? {};
    },
  });
  const port = await server.listen('127.0.0.1:0');
  const { authorizations, traces } = metadata;
  const seen = { calls, authorizations, traces, requests, sessions };
  return { port, ...seen, produced: () => produced, close: () => server.shutdown() };
}

/** The calls that open and end sessions. */
function createSessions(record: (name: string, context: CallContext) => void, { opened }: SparkServerOptions) {
  const sessions = new Map<string, ReadonlyMap<string, string>>();
  const templates = new Set<string>();
  return {
    sessions,
    async config({ sessionId, operation }: sparkConnect.ConfigRequest, context: CallContext) {
      record('config', context);
      await opened;
      const pairs = operation?.set?.pairs ?? [];
      sessions.set(sessionId, new Map(pairs.map(({ key, value = '' }) => [key, value])));
      return { serverSideSessionId: 'server-session' };
    },
    async cloneSession({ sessionId, newSessionId = '' }: sparkConnect.CloneSessionRequest, context: CallContext) {
      record('cloneSession', context);
      templates.add(sessionId);
      sessions.set(newSessionId, new Map(sessions.get(sessionId)));
      return { newSessionId, newServerSideSessionId: 'server-session' };
    },
    async releaseSession({ sessionId }: sparkConnect.ReleaseSessionRequest, context: CallContext) {
      record(templates.has(sessionId) ? 'releaseSession(template)' : 'releaseSession', context);
      return {};
    },
  };
}

/** Collects the metadata of calls. */
function createMetadataLog() {
  const authorizations = new Set<string>();
  const traces = new Map<string, string | undefined>();
  return {
    authorizations,
    traces,
    note(name: string, { metadata }: CallContext): void {
      traces.set(name, metadata.get('traceparent'));
      const authorization = metadata.get('authorization');
      if (authorization !== undefined) authorizations.add(authorization);
    },
  };
}

async function* responsesOf(batches: SparkServerOptions['batches']): AsyncGenerator<Response> {
  let next = 1;
  for await (const arrowBatch of typeof batches === 'function' ? batches() : batches) {
    yield { responseId: String(next++), arrowBatch };
  }
  yield { responseId: String(next), resultComplete: {} };
}
