import type { ErrorCode } from '@svc/errors';
import type { EndpointTable, MethodRow } from './endpoint-table.ts';
import {
  ETAG_HEADERS,
  HANDLE_PARAMS,
  IMPORT_PARAMS,
  LINE_PARAMS,
  LIST_PARAMS,
  UPLOAD_HEADERS,
  UPLOAD_PARAMS,
} from './parameters.ts';
import { SQL_ERRORS } from './read-endpoints.ts';

/** The errors of an upload, besides those of every request. */
const WRITE_ERRORS = [
  'invalid_data',
  'handle_exists',
  'version_conflict',
  'payload_too_large',
  'unsupported_media_type',
  'deadline_exceeded',
  'out_of_disk',
  'quota_exceeded',
  'out_of_memory',
] as const satisfies readonly ErrorCode[];

/** What a put and an append have in common. */
const UPLOAD = {
  params: UPLOAD_PARAMS,
  refusesOthers: true,
  headers: UPLOAD_HEADERS,
  body: 'rows',
  errors: WRITE_ERRORS,
} as const;

const written = (means: string) => ({ means, content: 'frame', headers: ['etag'] }) as const;
const located = (means: string) =>
  ({ means, content: 'frame', headers: ['etag', 'location', 'server-timing'] }) as const;
const appended = (means: string) => ({ means, content: 'shown_frame', headers: ['etag'] }) as const;

/** The paths of frames and their metadata. */
export const FRAME_ENDPOINTS = {
  '/frames': {
    group: 'Frames',
    methods: {
      GET: {
        id: 'listFrames',
        summary: 'List frames',
        operation: 'listFrames',
        params: LIST_PARAMS,
        headers: ETAG_HEADERS,
        responses: {
          200: { means: 'The frames, sorted by handle.', content: 'frame_list', headers: ['etag'] },
          304: { means: 'The client has the list already.', headers: ['etag'] },
        },
        uses: [{ gives: 'the metadata of every frame', section: 'list-and-describe' }],
      },
      POST: {
        id: 'createFrame',
        summary: 'Put a frame under a new handle, or store the result of a query',
        // The operation depends on the body; each needs the permission of a put.
        operation: 'putFrame',
        params: UPLOAD_PARAMS,
        refusesOthers: true,
        headers: UPLOAD_HEADERS,
        body: 'rows_or_query',
        responses: { 200: located('The frame was replaced.'), 201: located('The frame is new.') },
        errors: [...WRITE_ERRORS, ...SQL_ERRORS],
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
    group: 'Frames',
    pathParams: HANDLE_PARAMS,
    methods: {
      GET: {
        id: 'describeFrame',
        summary: 'Describe a frame',
        operation: 'describeFrame',
        responses: { 200: { means: 'The metadata of the frame.', content: 'frame', headers: ['etag'] } },
        errors: ['invalid_data', 'handle_not_found', 'payload_too_large', 'out_of_disk', 'out_of_memory'],
        uses: [{ gives: 'the metadata of one frame', section: 'list-and-describe' }],
      },
      PUT: {
        id: 'putFrame',
        summary: 'Put or replace a frame',
        operation: 'putFrame',
        ...UPLOAD,
        responses: { 200: written('The frame was replaced.'), 201: written('The frame is new.') },
        uses: [{ gives: 'puts or replaces a frame', section: 'put-a-frame' }],
      },
      POST: {
        id: 'appendFrame',
        summary: 'Append rows, or the result of a query, to a frame',
        // The operation depends on the body; each needs the permission of an append.
        operation: 'appendFrame',
        ...UPLOAD,
        body: 'rows_or_appended_query',
        responses: { 200: appended('The rows were added.'), 201: appended('The frame is new.') },
        errors: [...WRITE_ERRORS, ...SQL_ERRORS, 'handle_not_found'],
        uses: [
          { gives: 'adds rows to a frame', section: 'append-rows' },
          {
            gives: 'adds the result of a query to a frame, with `{"sql": "select …"}` as the body',
            section: 'append-an-answer',
          },
        ],
      },
      PATCH: {
        id: 'changeFrame',
        summary: 'Change when a frame expires, or rename it',
        // The operation depends on the body; each needs the same permission.
        operation: 'expireFrame',
        refusesOthers: true,
        body: 'change',
        responses: {
          200: {
            means: 'The metadata of the frame, without `columns` if the caller lacks the permission `read`.',
            content: 'shown_frame',
            headers: ['etag'],
          },
        },
        errors: ['handle_not_found', 'handle_exists', 'payload_too_large', 'out_of_disk'],
        uses: [
          {
            gives: 'changes when it expires, with `{"ttl": 3600}` as the body',
            section: 'change-how-long-a-frame-lives',
          },
          { gives: 'renames it, with `{"handle": "new-name"}` as the body', section: 'rename-a-frame' },
        ],
      },
      DELETE: {
        id: 'dropFrame',
        summary: 'Drop a frame',
        operation: 'dropFrame',
        refusesOthers: true,
        responses: { 204: { means: 'The frame is dropped.' } },
        errors: ['handle_not_found', 'out_of_disk'],
        uses: [{ gives: 'drops it', section: 'drop-a-frame' }],
      },
    },
  },
} as const satisfies EndpointTable;

const LINE_ERRORS = [
  'invalid_data',
  'handle_exists',
  'payload_too_large',
  'unsupported_media_type',
  'partial_write',
  'deadline_exceeded',
  'out_of_disk',
  'quota_exceeded',
  'out_of_memory',
] as const satisfies readonly ErrorCode[];

const write = (id: string) =>
  ({
    id,
    summary: 'Append lines of line protocol to frames',
    operation: 'writeLines',
    params: LINE_PARAMS,
    refusesOthers: true,
    headers: { 'Content-Encoding': UPLOAD_HEADERS['Content-Encoding'] },
    body: 'lines',
    responses: { 204: { means: 'The rows of all lines are stored.' } },
    errors: LINE_ERRORS,
  }) as const satisfies Omit<MethodRow, 'uses'>;

/** The paths for clients of line protocol. */
export const LINE_ENDPOINTS = {
  '/write': {
    group: 'Frames',
    methods: {
      POST: {
        ...write('writeLines'),
        uses: [
          { gives: 'appends the lines of InfluxDB line protocol, one frame for each table', section: 'write-lines' },
        ],
      },
    },
  },
  '/api/v2/write': {
    group: 'Frames',
    methods: { POST: { ...write('writeLinesV2'), uses: [{ gives: 'the same as `/write`', section: 'write-lines' }] } },
  },
  '/settings': {
    group: 'Server',
    access: 'optional',
    methods: {
      GET: {
        id: 'settings',
        summary: 'Tell clients of QuestDB what this server reads',
        responses: {
          200: { means: 'The versions of line protocol, and what else they ask for.', content: 'settings' },
        },
        uses: [{ gives: 'the versions of line protocol, for clients of QuestDB', section: 'write-lines' }],
      },
    },
  },
} as const satisfies EndpointTable;

/** The paths for tools of QuestDB. If SQL is for the database by default, they are not here. */
export const QUESTDB_ENDPOINTS = {
  '/imp': {
    group: 'Frames',
    methods: {
      POST: {
        id: 'importFile',
        summary: 'Store the file in a form as a frame, or append it',
        // The operation depends on `overwrite`; both need the same permission.
        operation: 'putFrame',
        params: IMPORT_PARAMS,
        headers: { 'Content-Encoding': UPLOAD_HEADERS['Content-Encoding'] },
        body: 'form',
        responses: { 200: { means: 'The rows are stored.', content: 'import' } },
        errors: WRITE_ERRORS,
        uses: [{ gives: 'appends the file in a form to a frame, or creates it', section: 'tools-of-questdb' }],
      },
    },
  },
  '/warnings': {
    group: 'Server',
    methods: {
      GET: {
        id: 'warnings',
        summary: "Tell QuestDB's web console that there are no warnings",
        responses: { 200: { means: 'An empty list.', content: 'warnings' } },
        uses: [{ gives: "an empty list, for QuestDB's web console", section: 'tools-of-questdb' }],
      },
    },
  },
} as const satisfies EndpointTable;
