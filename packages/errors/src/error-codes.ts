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
  | 'UNAUTHENTICATED'
  | 'UNAVAILABLE'
  | 'UNIMPLEMENTED';

/** One row of `ERROR_CODES`. */
export interface ErrorCodeRow {
  /** Status of the HTTP response. */
  readonly http: number;
  /** Status of the gRPC call. */
  readonly grpc: GrpcStatusName;
  /** When the error occurs, for the documentation. */
  readonly meaning: string;
  /** The default hint, for errors without a better one. */
  readonly hint: string;
}

/** The closed set of errors. The code alone decides both statuses. */
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
    meaning: 'The uploaded bytes do not match their format; the message says where.',
    hint: 'Check that the body is complete and that its format matches Content-Type.',
  },
  invalid_sql: {
    http: 400,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'The engine rejects the SQL, or it failed on the data; `position` says where, if known.',
    hint: 'Correct the SQL and send it again.',
  },
  unauthenticated: {
    http: 401,
    grpc: 'UNAUTHENTICATED',
    meaning: 'The request has no credentials, or its credentials are wrong, expired or revoked.',
    hint: 'Send the header Authorization with Bearer and a token, or with Basic and the token as the password.',
  },
  permission_denied: {
    http: 403,
    grpc: 'PERMISSION_DENIED',
    meaning: 'The caller is not allowed to do this.',
    hint: 'Ask the operator of the server.',
  },
  handle_not_found: {
    http: 404,
    grpc: 'NOT_FOUND',
    meaning: 'No frame of the caller has this handle.',
    hint: 'GET /frames lists all handles.',
  },
  query_not_found: {
    http: 404,
    grpc: 'NOT_FOUND',
    meaning: 'No query that runs now, and that the caller may see, has this id.',
    hint: 'GET /queries lists the running queries.',
  },
  route_not_found: {
    http: 404,
    grpc: 'UNIMPLEMENTED',
    meaning: 'The server has no such path.',
    hint: 'GET / lists the paths of this server.',
  },
  method_not_allowed: {
    http: 405,
    grpc: 'UNIMPLEMENTED',
    meaning: 'The path does not support this method; Allow lists the methods it supports.',
    hint: 'Use one of the methods in the Allow header.',
  },
  handle_exists: {
    http: 409,
    grpc: 'ALREADY_EXISTS',
    meaning: 'The request must create the handle, but it exists (perhaps in a different letter case).',
    hint: 'Choose another handle. A put without If-None-Match replaces the frame.',
  },
  version_conflict: {
    http: 409,
    grpc: 'ABORTED',
    meaning: 'If-Match does not name the current version of the frame.',
    hint: 'Read the frame again and redo the change on its current version.',
  },
  partial_write: {
    http: 422,
    grpc: 'ABORTED',
    meaning: 'Lines for several tables were sent, and those of some tables are stored, but not those of others.',
    hint: 'Send the lines of the other tables again; the message names the tables that are stored.',
  },
  precondition_failed: {
    http: 412,
    grpc: 'FAILED_PRECONDITION',
    meaning: 'If-Match does not name the etag of the file.',
    hint: 'Request the whole file again, without If-Match.',
  },
  range_not_satisfiable: {
    http: 416,
    grpc: 'INVALID_ARGUMENT',
    meaning: 'The range begins after the end of the file; Content-Range has its length.',
    hint: 'Request a range within the length that Content-Range shows.',
  },
  tsdb_not_configured: {
    http: 412,
    grpc: 'FAILED_PRECONDITION',
    meaning: 'SQL was sent, but no external time-series database is configured.',
    hint: 'Set SERVICE_TSDB_HTTP_URL to the base URL of the time-series database, for example http://tsdb.example.com:9000.',
  },
  scheduler_not_configured: {
    http: 412,
    grpc: 'FAILED_PRECONDITION',
    meaning: 'SQL was sent with engine=scheduler, but no scheduler is configured.',
    hint: 'Set scheduler.url, for example sc://spark.example.com:15002. Or send engine=local to run the SQL in this server.',
  },
  payload_too_large: {
    http: 413,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'The body, or the result of a statement, is larger than its limit.',
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
    meaning: 'This server does not read the format of the body.',
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
    meaning:
      'The queue of SQL statements is full, or the tenant is over its rate or runs too many; Retry-After says when to retry.',
    hint: 'Retry after the number of seconds in Retry-After, or raise sql.max_queued.',
  },
  cancelled: {
    http: 499,
    grpc: 'CANCELLED',
    meaning: 'The client cancelled the request or disconnected before the response was complete.',
    hint: 'Send the request again if you still need the result.',
  },
  internal: {
    http: 500,
    grpc: 'INTERNAL',
    meaning: 'A bug or fault in the server. The log has the cause under the request id.',
    hint: 'Report it with the request id.',
  },
  tsdb_failed: {
    http: 502,
    grpc: 'UNAVAILABLE',
    meaning: 'The time-series database refused the connection, closed it early or sent an invalid response.',
    hint: 'Check that the time-series database is running and that tsdb.http_url points to it.',
  },
  scheduler_failed: {
    http: 502,
    grpc: 'UNAVAILABLE',
    meaning:
      'The cluster of scheduler.url cannot be reached, refused the credentials, does not see the files of a frame, or did not answer completely.',
    hint: 'Check that the cluster is running, that scheduler.url points to it, and that it reads the files of scheduler.frames_url.',
  },
  unavailable: {
    http: 503,
    grpc: 'UNAVAILABLE',
    meaning:
      'The server is starting or stopping, is overloaded, makes no progress, cannot write to its disk, or cannot open more files.',
    hint: 'Retry in a moment.',
  },
  deadline_exceeded: {
    http: 504,
    grpc: 'DEADLINE_EXCEEDED',
    meaning: 'The response was not ready in time.',
    hint: 'Request less data, or raise the timeout that the message names.',
  },
  out_of_disk: {
    http: 507,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'The disk that stores the frames is full.',
    hint: 'Drop frames you no longer need, or give the frames directory more space.',
  },
  quota_exceeded: {
    http: 507,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'The tenant has as many frames, or as many bytes in frames, as it may have.',
    hint: 'Drop frames you no longer need, or ask the operator for more.',
  },
  out_of_memory: {
    http: 507,
    grpc: 'RESOURCE_EXHAUSTED',
    meaning: 'A statement, an upload or a row needs more memory than its limit.',
    hint: 'Request less at once, or raise the limit: sql.memory_gb for SQL, storage.cache_size_gb for frames in memory.',
  },
} as const satisfies Record<string, ErrorCodeRow>;

/** The name of one kind of failure. */
export type ErrorCode = keyof typeof ERROR_CODES;
