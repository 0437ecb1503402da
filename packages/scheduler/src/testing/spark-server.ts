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
  readonly settings: Map<string, string>;
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
  const settings = new Map<string, string>();
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
    async config({ operation }, context) {
      record('config', context);
      for (const { key, value = '' } of operation?.set?.pairs ?? []) settings.set(key, value);
      return { serverSideSessionId: 'server-session' };
    },
    async interrupt(_request, context) {
      record('interrupt', context);
      await options.interrupted;
      return {};
    },
    async releaseExecute({ releaseUntil, releaseAll }, context) {
      record(`releaseExecute(${releaseUntil?.responseId ?? (releaseAll && 'all')})`, context);
      return {};
    },
    async releaseSession(_request, context) {
      record('releaseSession', context);
      return {};
    },
    async fetchErrorDetails() {
      return options.details ?? {};
    },
  });
  const port = await server.listen('127.0.0.1:0');
  const { authorizations, traces } = metadata;
  const seen = { calls, authorizations, traces, requests, settings };
  return { port, ...seen, produced: () => produced, close: () => server.shutdown() };
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
