/** The gRPC status of an error, by its canonical name. */
export type GrpcStatusName =
  | 'ABORTED'
  | 'ALREADY_EXISTS'
  | 'CANCELLED'
  | 'DEADLINE_EXCEEDED'
  | 'FAILED_PRECONDITION'
  | 'INTERNAL'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAVAILABLE'
  | 'UNIMPLEMENTED';

/** One row of `ERROR_CODES`. */
export interface ErrorCodeRow {
  /** Status of the HTTP answer. */
  readonly http: number;
  /** Status of the gRPC call. */
  readonly grpc: GrpcStatusName;
  /** When it happens, for the documentation. */
  readonly meaning: string;
  /** The hint used where the place that raises the error has no better one. */
  readonly hint: string;
}

/** Every error there is. The code alone decides both statuses; the set is closed. */
export const ERROR_CODES = {
  invalid_argument: {
    http: 400,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'A parameter, header or path is missing, unknown, malformed or contradicts another.',
    hint: 'Correct the request and send it again.',
  },
  invalid_data: {
    http: 400,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'The uploaded bytes are not what their format says; the sentence names the place.',
    hint: 'Check that the body is whole and that its format matches Content-Type.',
  },
  invalid_sql: {
    http: 400,
    grpc: 'INVALID_ARGUMENT',
    meaning:
      'The engine does not understand the SQL, or it failed on the data; `position` says where, if that is known.',
    hint: 'Correct the SQL and send it again.',
  },
  permission_denied: {
    http: 403,
    grpc: 'PERMISSION_DENIED',
    meaning: 'The caller may not do this.',
    hint: 'Ask whoever runs the server.',
  },
  handle_not_found: {
    http: 404,
    grpc: 'NOT_FOUND',
    meaning: 'No frame of the caller has this handle.',
    hint: 'GET /frames lists the handles there are.',
  },
  route_not_found: {
    http: 404,
    grpc: 'UNIMPLEMENTED',
    meaning: 'There is nothing at this path.',
    hint: 'GET / lists the paths of this server.',
  },
  method_not_allowed: {
    http: 405,
    grpc: 'UNIMPLEMENTED',
    meaning: 'The path exists, but not for this method; Allow names those that work.',
    hint: 'Use one of the methods named in the Allow header.',
  },
  handle_exists: {
    http: 409,
    grpc: 'ALREADY_EXISTS',
    meaning: 'The request asked for a new handle, and there is one (perhaps with other letter case).',
    hint: 'Choose another handle, or replace the frame without If-None-Match.',
  },
  version_conflict: {
    http: 409,
    grpc: 'ABORTED',
    meaning: 'The frame is not, or no longer, the version that If-Match names.',
    hint: 'Read the frame again and repeat the change on what it is now.',
  },
  tsdb_not_configured: {
    http: 412,
    grpc: 'FAILED_PRECONDITION',
    meaning: 'SQL was sent, and no external time-series database is configured.',
    hint: 'Set SERVICE_TSDB_HTTP_URL to the base URL of the time-series database, for example http://tsdb.example.com:9000.',
  },
  scheduler_not_configured: {
    http: 412,
    grpc: 'FAILED_PRECONDITION',
    meaning: 'SQL was sent with engine=scheduler, and no scheduler is configured.',
    hint: 'Send engine=local to run the SQL in this server.',
  },
  payload_too_large: {
    http: 413,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'The body is larger than the limit.',
    hint: 'Send less, or raise http.max_upload_bytes.',
  },
  uri_too_long: {
    http: 414,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'The encoded SQL is longer than the time-series database accepts.',
    hint: 'Shorten the SQL: the encoded request may have 32000 bytes.',
  },
  unsupported_media_type: {
    http: 415,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'The body is of a format this server does not read.',
    hint: 'Send one of the formats named in the message.',
  },
  headers_too_large: {
    http: 431,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'The request line and headers are longer than 64 KiB.',
    hint: 'Send fewer or shorter headers, or a shorter URL.',
  },
  too_many_requests: {
    http: 429,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'More SQL is waiting for an engine than may wait; Retry-After says when to try again.',
    hint: 'Send the request again after the seconds of Retry-After, or raise sql.max_queued.',
  },
  cancelled: {
    http: 499,
    grpc: 'CANCELLED',
    meaning: 'The client went away before the answer was ready.',
    hint: 'Send the request again if the answer is still wanted.',
  },
  internal: {
    http: 500,
    grpc: 'INTERNAL',
    meaning: 'A fault of the server. The cause is in its log, under the request id.',
    hint: 'Report it with the request id.',
  },
  tsdb_failed: {
    http: 502,
    grpc: 'UNAVAILABLE',
    meaning: 'The time-series database refused the connection, broke off or answered nonsense.',
    hint: 'Check that the time-series database runs and that tsdb.http_url names it.',
  },
  unavailable: {
    http: 503,
    grpc: 'UNAVAILABLE',
    meaning: 'The server is starting or stopping, too busy to begin, makes no progress, or cannot write to its disk.',
    hint: 'Send the request again in a moment.',
  },
  deadline_exceeded: {
    http: 504,
    grpc: 'DEADLINE_EXCEEDED',
    meaning: 'The answer was not ready in time.',
    hint: 'Ask for less, or raise the timeout that the message names.',
  },
  out_of_disk: {
    http: 507,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'There is no space left on the disk that keeps the frames.',
    hint: 'Drop frames that are no longer needed, or give the directory of the frames more space.',
  },
  out_of_memory: {
    http: 507,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'A statement, an upload or a row takes more memory than is set aside for it.',
    hint: 'Ask for less at once, or raise the limit: sql.memory_gb for SQL, storage.cache_size_gb for frames in memory.',
  },
} as const satisfies Record<string, ErrorCodeRow>;

/** The name of one kind of failure. */
export type ErrorCode = keyof typeof ERROR_CODES;
