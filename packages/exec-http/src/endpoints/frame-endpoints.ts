import type { ErrorCode } from '@svc/errors';
import type { EndpointTable } from './endpoint-table.ts';
import { ETAG_HEADERS, UPLOAD_HEADERS } from './headers.ts';
import { HANDLE_PARAMS, LIST_PARAMS, UPLOAD_PARAMS } from './parameters.ts';
import { SQL_ERRORS } from './read-endpoints.ts';

/** The errors of an upload, besides those of every request. */
export const WRITE_ERRORS = [
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
        // Which operation it is depends on the body; each of them needs the permission of a put.
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
        // Which operation it is depends on the body; each of them needs the permission of an append.
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
        // Which operation it is depends on the body; each of them needs the same permission.
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
