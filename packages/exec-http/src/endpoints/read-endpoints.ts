import type { ErrorCode } from '@svc/errors';
import type { EndpointTable } from './endpoint-table.ts';
import {
  CHK_PARAMS,
  ETAG_HEADERS,
  EXEC_BODY_PARAMS,
  EXEC_PARAMS,
  EXP_BODY_PARAMS,
  EXP_PARAMS,
  FILE_PARAMS,
  RANGE_HEADERS,
} from './parameters.ts';

/** A file of others may be damaged, or decompress to more than is allowed. */
const READ_ERRORS = [
  'invalid_data',
  'handle_not_found',
  'payload_too_large',
  'deadline_exceeded',
  'out_of_disk',
  'out_of_memory',
] as const satisfies readonly ErrorCode[];

/** The errors of SQL, wherever it runs. */
export const SQL_ERRORS = [
  'invalid_sql',
  'tsdb_not_configured',
  'scheduler_not_configured',
  'uri_too_long',
  'tsdb_failed',
  'scheduler_failed',
  'deadline_exceeded',
  'out_of_disk',
  'out_of_memory',
] as const satisfies readonly ErrorCode[];

const RANGE_ERRORS = ['precondition_failed', 'range_not_satisfiable'] as const satisfies readonly ErrorCode[];
const BODY_ERRORS = ['payload_too_large', 'unsupported_media_type'] as const satisfies readonly ErrorCode[];

const TABLE = {
  means: 'A JSON table. From the time-series database: its response, unchanged.',
  content: 'table',
  headers: ['etag', 'server-timing', 'x-total-count'],
} as const;
const EXPORT = {
  means: 'The rows in the format of `fmt`. From the time-series database: its response, unchanged.',
  content: 'export',
  headers: ['accept-ranges', 'content-disposition', 'etag', 'server-timing', 'x-total-count'],
} as const;
const FILE_RANGE_HEADERS = ['accept-ranges', 'content-disposition', 'content-range', 'etag', 'x-total-count'] as const;
const NOT_MODIFIED = { means: 'The client has the current version.', headers: ['etag'] } as const;

/** The paths to read rows and to run SQL. */
export const READ_ENDPOINTS = {
  '/exec': {
    group: 'Rows and SQL',
    methods: {
      GET: {
        id: 'exec',
        summary: 'Read a frame or run SQL, as a JSON table',
        params: EXEC_PARAMS,
        headers: ETAG_HEADERS,
        responses: { 200: TABLE, 304: NOT_MODIFIED },
        errors: [...READ_ERRORS, ...SQL_ERRORS, 'method_not_allowed'],
        mayForward: true,
        uses: [
          { request: '/exec?handle={handle}&fmt=json', gives: 'a frame as a JSON table', section: 'read-a-frame' },
          {
            request: '/exec?query={sql}&fmt=json',
            gives: 'the response of the time-series database, unchanged',
            section: 'forward-sql',
          },
          {
            request: '/exec?query={sql}&engine=local&fmt=json',
            gives: 'SQL over frames, as a JSON table',
            section: 'sql-over-frames',
          },
        ],
      },
      POST: {
        id: 'execBody',
        summary: 'Run the SQL in the body, as a JSON table',
        params: EXEC_BODY_PARAMS,
        body: 'sql',
        responses: { 200: TABLE },
        errors: [...READ_ERRORS, ...SQL_ERRORS, ...BODY_ERRORS],
        mayForward: true,
        uses: [{ request: '/exec?fmt=json', gives: 'the same, with the SQL as the body', section: 'forward-sql' }],
      },
    },
  },
  '/exp': {
    group: 'Rows and SQL',
    methods: {
      GET: {
        id: 'exp',
        summary: 'Export a frame or the result of SQL',
        params: EXP_PARAMS,
        headers: RANGE_HEADERS,
        responses: {
          200: EXPORT,
          206: { means: 'A range of a whole frame as Parquet.', content: 'export', headers: FILE_RANGE_HEADERS },
          304: NOT_MODIFIED,
        },
        errors: [...READ_ERRORS, ...RANGE_ERRORS, ...SQL_ERRORS, 'method_not_allowed'],
        mayForward: true,
        uses: [
          {
            request: '/exp?handle={handle}&fmt=csv',
            gives: 'a frame as CSV, NDJSON, Arrow or Parquet',
            section: 'export-a-frame',
          },
          {
            request: '/exp?query={sql}',
            gives: 'the export of the time-series database, unchanged',
            section: 'forward-sql',
          },
          {
            request: '/exp?query={sql}&engine=local',
            gives: 'SQL over frames, in the same formats',
            section: 'sql-over-frames',
          },
        ],
      },
      POST: {
        id: 'expBody',
        summary: 'Export the result of the SQL in the body',
        params: EXP_BODY_PARAMS,
        body: 'sql',
        responses: { 200: EXPORT },
        errors: [...READ_ERRORS, ...SQL_ERRORS, ...BODY_ERRORS],
        mayForward: true,
        uses: [{ gives: 'the same, with the SQL as the body', section: 'forward-sql' }],
      },
    },
  },
  '/chk': {
    group: 'Rows and SQL',
    // A GET may be forwarded to the database.
    actsOnGet: true,
    methods: {
      GET: {
        id: 'chk',
        summary: 'Ask whether a frame, or a table of the time-series database, exists',
        params: CHK_PARAMS,
        responses: {
          200: {
            means: 'Whether the frame exists. From the time-series database: its response, unchanged.',
            content: 'existence',
          },
        },
        errors: [
          'invalid_data',
          'payload_too_large',
          'out_of_disk',
          'out_of_memory',
          'method_not_allowed',
          'tsdb_not_configured',
          'scheduler_not_configured',
          'uri_too_long',
          'tsdb_failed',
          'deadline_exceeded',
        ],
        mayForward: true,
        uses: [
          {
            gives: 'whether a frame exists, or the response of the time-series database, unchanged',
            section: 'tools-of-questdb',
          },
        ],
      },
    },
  },
  '/files/{name}': {
    group: 'Rows and SQL',
    pathParams: FILE_PARAMS,
    methods: {
      GET: {
        id: 'readFile',
        summary: 'Read a frame as a file',
        operation: 'openFile',
        headers: RANGE_HEADERS,
        responses: {
          200: {
            means: 'The whole file.',
            content: 'file',
            headers: ['accept-ranges', 'content-disposition', 'etag', 'x-total-count'],
          },
          206: { means: 'The range of the file.', content: 'file', headers: FILE_RANGE_HEADERS },
          304: NOT_MODIFIED,
        },
        errors: [...READ_ERRORS, ...RANGE_ERRORS, 'route_not_found'],
        uses: [
          {
            request: '/files/{handle}.parquet',
            gives: 'a frame as a file, with ranges; also `.arrow`, `.csv` and `.ndjson`',
            section: 'files',
          },
        ],
      },
    },
  },
} as const satisfies EndpointTable;
