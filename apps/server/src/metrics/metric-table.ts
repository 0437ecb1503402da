/** One row of `METRICS`. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, for `# HELP` and the documentation. */
  readonly help: string;
  /** Default: none. */
  readonly labels?: readonly string[];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** With `metrics.tenant_label`, it has the label `tenant`. Default false. */
  readonly hasTenant?: boolean;
}

/** From a response out of the cache to the default limits of statements. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60] as const;

/**
 * Every metric of the server. A label has few values: never a path, handle, statement, address or token of a client.
 */
export const METRICS = {
  svc_requests_total: {
    type: 'counter',
    help: 'Requests that ended, with the HTTP or gRPC status and the error code: "ok" if there is none, as for a failure that the time-series database sent.',
    labels: ['protocol', 'route', 'method', 'status', 'code'],
    hasTenant: true,
  },
  svc_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the head of a request to the last byte of its response.',
    labels: ['protocol', 'route', 'method'],
    buckets: SECONDS,
  },
  svc_first_byte_seconds: {
    type: 'histogram',
    help: 'Time from the head of a request to the first byte of the response body.',
    labels: ['protocol', 'route', 'format'],
    buckets: SECONDS,
  },
  svc_requests_in_flight: {
    type: 'gauge',
    help: 'Requests that have started and not ended.',
    labels: ['protocol'],
  },
  svc_request_bytes_total: {
    type: 'counter',
    help: 'Bytes of request bodies that were read, by the format of the rows in them.',
    labels: ['protocol', 'route', 'format'],
  },
  svc_response_bytes_total: {
    type: 'counter',
    help: 'Bytes of response bodies that were sent, by the format of the rows in them.',
    labels: ['protocol', 'route', 'format'],
  },
  svc_connections: {
    type: 'gauge',
    help: 'Open connections of clients.',
    labels: ['protocol'],
  },
  svc_queries_total: {
    type: 'counter',
    help: 'SQL statements that ended, by how they ended: ok, cancelled, timeout, oom, error or refused.',
    labels: ['engine', 'outcome'],
    hasTenant: true,
  },
  svc_query_duration_seconds: {
    type: 'histogram',
    help: 'Time from the start of a statement to the last byte of its result, with the wait.',
    labels: ['engine', 'outcome'],
    buckets: SECONDS,
  },
  svc_query_wait_seconds: {
    type: 'histogram',
    help: 'Time that a statement waited for its engine.',
    labels: ['engine'],
    buckets: SECONDS,
  },
  svc_queries_running: {
    type: 'gauge',
    help: 'Statements that run or send their result.',
    labels: ['engine'],
  },
  svc_queries_queued: {
    type: 'gauge',
    help: 'Statements that wait for their engine.',
    labels: ['engine'],
  },
  svc_engine_children: {
    type: 'gauge',
    help: 'Processes of the engine that run now, for SQL or for the files of frames.',
    labels: ['kind'],
  },
  svc_engine_child_exits_total: {
    type: 'counter',
    help: 'Processes of the engine that ended, by the reason; crashed, hung and out_of_memory are faults.',
    labels: ['kind', 'reason'],
  },
  svc_frames: {
    type: 'gauge',
    help: 'Frames on disk, and those of them that are also in memory.',
    labels: ['tier'],
  },
  svc_frame_bytes: {
    type: 'gauge',
    help: 'Bytes of frames on disk, and of those in memory.',
    labels: ['tier'],
  },
  svc_store_free_bytes: {
    type: 'gauge',
    help: 'Free bytes of the file system that has the frames.',
  },
  svc_cache_bytes: {
    type: 'gauge',
    help: 'Bytes in a cache: frames in memory (hot), decoded frames on disk (disk), or short responses (answers).',
    labels: ['cache'],
  },
  svc_cache_reads_total: {
    type: 'counter',
    help: 'Lookups in a cache, by whether they found something: hit or miss.',
    labels: ['cache', 'result'],
  },
  svc_frame_writes_total: {
    type: 'counter',
    help: 'Frames that were written: put (also by a query) or appended to.',
    labels: ['kind'],
  },
  svc_frame_rows_written_total: {
    type: 'counter',
    help: 'Rows that were put or appended.',
    labels: ['kind'],
  },
  svc_frames_dropped_total: { type: 'counter', help: 'Frames that clients dropped.' },
  svc_frames_expired_total: { type: 'counter', help: 'Frames that were removed because their time to live was over.' },
  svc_tsdb_requests_total: {
    type: 'counter',
    help: 'Requests to the time-series database, by "ok" or the error code.',
    labels: ['outcome'],
  },
  svc_tsdb_request_duration_seconds: {
    type: 'histogram',
    help: 'Time to the head of the response of the time-series database, or to the failure.',
    labels: ['outcome'],
    buckets: SECONDS,
  },
  svc_tsdb_up: {
    type: 'gauge',
    help: 'Whether the last request to the time-series database succeeded: 0 if the database failed or did not answer in time, else 1, as for SQL that it refuses. Absent before the first request.',
  },
  svc_tsdb_connections: { type: 'gauge', help: 'Open connections to the time-series database.' },
  svc_scheduler_not_stopping_total: {
    type: 'counter',
    help: 'Cancelled statements whose end the cluster did not confirm.',
  },
  svc_trace_spans_total: {
    type: 'counter',
    help: 'Spans for the collector of traces.otlp_url, by what became of them: sent or dropped.',
    labels: ['result'],
  },
  svc_trace_spans_queued: { type: 'gauge', help: 'Spans that wait to be sent to the collector.' },
  svc_event_loop_delay_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop since the previous scrape, by quantile; 1 is the maximum.',
    labels: ['q'],
  },
  svc_gc_seconds_total: {
    type: 'counter',
    help: 'Time spent in garbage collection.',
    labels: ['kind'],
  },
  svc_memory_bytes: {
    type: 'gauge',
    help: 'Memory of the server process, without the processes of its engine.',
    labels: ['kind'],
  },
  process_cpu_seconds_total: { type: 'counter', help: 'User and system CPU time of the server process.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory of the server process.' },
  process_start_time_seconds: { type: 'gauge', help: 'When the server process started, in Unix time.' },
  process_open_fds: { type: 'gauge', help: 'Open file descriptors of the server process.' },
  process_max_fds: { type: 'gauge', help: 'The most file descriptors that the server process may open.' },
  svc_out_of_files_seconds_total: {
    type: 'counter',
    help: 'Seconds in which the server could open no more files and connections.',
  },
  svc_build_info: { type: 'gauge', help: 'Always 1; the labels have the versions.', labels: ['version', 'node'] },
  svc_ready: { type: 'gauge', help: 'Whether /ready says that the server is ready: 1 or 0.' },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** The name of a metric. */
export type MetricName = keyof typeof METRICS;

/** The names of the metrics of one type. */
export type MetricOf<Type extends MetricRow['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];

/** The names of methods in metrics and traces. Clients can send any word. */
export const HTTP_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
]);
