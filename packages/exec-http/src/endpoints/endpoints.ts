import type { EndpointTable } from './endpoint-table.ts';
import {
  CHK_PARAMS,
  EXEC_BODY_PARAMS,
  EXEC_PARAMS,
  EXP_BODY_PARAMS,
  EXP_PARAMS,
  FILE_PARAMS,
  HANDLE_PARAMS,
  LIST_PARAMS,
  UPLOAD_PARAMS,
} from './parameters.ts';

/**
 * Every path of the API: it routes requests, tells parsers the names of the parameters, and describes the API in
 * `/openapi.json` and the documentation.
 */
export const ENDPOINTS = {
  '/exec': {
    methods: {
      GET: {
        id: 'exec',
        params: EXEC_PARAMS,
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
        params: EXEC_BODY_PARAMS,
        uses: [{ request: '/exec?fmt=json', gives: 'the same, with the SQL as the body', section: 'forward-sql' }],
      },
    },
  },
  '/exp': {
    methods: {
      GET: {
        id: 'exp',
        params: EXP_PARAMS,
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
        params: EXP_BODY_PARAMS,
        uses: [{ gives: 'the same, with the SQL as the body', section: 'forward-sql' }],
      },
    },
  },
  '/chk': {
    // Every GET is forwarded to the database.
    actsOnGet: true,
    methods: {
      GET: {
        id: 'chk',
        operation: 'forward',
        params: CHK_PARAMS,
        uses: [{ gives: 'the response of the time-series database, unchanged', section: 'forward-sql' }],
      },
    },
  },
  '/files/{name}': {
    pathParams: FILE_PARAMS,
    methods: {
      GET: {
        id: 'readFile',
        operation: 'openFile',
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
  '/frames': {
    methods: {
      GET: {
        id: 'listFrames',
        operation: 'listFrames',
        params: LIST_PARAMS,
        uses: [{ gives: 'the metadata of every frame', section: 'list-and-describe' }],
      },
      POST: {
        id: 'createFrame',
        // Which operation it is depends on the body; each of them needs the permission of a put.
        operation: 'putFrame',
        params: UPLOAD_PARAMS,
        refusesOthers: true,
        uses: [
          { gives: 'puts a frame under a new handle', section: 'append-rows' },
          {
            gives: 'stores the result of a query as a frame, with `{"sql": "select …"}` as the body',
            section: 'keep-an-answer',
          },
        ],
      },
    },
  },
  '/frames/{handle}': {
    pathParams: HANDLE_PARAMS,
    methods: {
      GET: {
        id: 'describeFrame',
        operation: 'describeFrame',
        uses: [{ gives: 'the metadata of one frame', section: 'list-and-describe' }],
      },
      PUT: {
        id: 'putFrame',
        operation: 'putFrame',
        params: UPLOAD_PARAMS,
        refusesOthers: true,
        uses: [{ gives: 'puts or replaces a frame', section: 'put-a-frame' }],
      },
      POST: {
        id: 'appendFrame',
        operation: 'appendFrame',
        params: UPLOAD_PARAMS,
        refusesOthers: true,
        uses: [{ gives: 'adds rows to a frame', section: 'append-rows' }],
      },
      PATCH: {
        id: 'expireFrame',
        operation: 'expireFrame',
        refusesOthers: true,
        uses: [
          {
            gives: 'changes when it expires, with `{"ttl": 3600}` as the body',
            section: 'change-how-long-a-frame-lives',
          },
        ],
      },
      DELETE: {
        id: 'dropFrame',
        operation: 'dropFrame',
        refusesOthers: true,
        uses: [{ gives: 'drops it', section: 'drop-a-frame' }],
      },
    },
  },
  '/ping': {
    access: 'open',
    isProbe: true,
    methods: { GET: { id: 'ping', uses: [{ gives: '`ok`', section: 'state-of-the-server' }] } },
  },
  '/health': {
    access: 'optional',
    isProbe: true,
    methods: { GET: { id: 'health', uses: [{ gives: 'the state of the server', section: 'state-of-the-server' }] } },
  },
  '/ready': {
    access: 'open',
    isProbe: true,
    methods: {
      GET: {
        id: 'ready',
        uses: [{ gives: 'whether requests should be sent here: 200 or 503', section: 'state-of-the-server' }],
      },
    },
  },
  '/readyz': {
    access: 'open',
    isProbe: true,
    methods: { GET: { id: 'readyz', uses: [{ gives: 'the same as `/ready`', section: 'state-of-the-server' }] } },
  },
  '/livez': {
    access: 'open',
    isProbe: true,
    methods: {
      GET: { id: 'livez', uses: [{ gives: 'whether the process is alive', section: 'state-of-the-server' }] },
    },
  },
} as const satisfies EndpointTable;
