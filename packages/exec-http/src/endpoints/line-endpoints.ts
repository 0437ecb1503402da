import type { ErrorCode } from '@svc/errors';
import type { EndpointTable, MethodRow } from './endpoint-table.ts';
import { UPLOAD_HEADERS } from './headers.ts';
import { LINE_PARAMS } from './parameters.ts';

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

const section = 'write-lines';

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

/** The paths for clients that send line protocol. */
export const LINE_ENDPOINTS = {
  '/write': {
    group: 'Frames',
    methods: {
      POST: {
        ...write('writeLines'),
        uses: [{ gives: 'appends the lines of InfluxDB line protocol, one frame for each table', section }],
      },
    },
  },
  '/api/v2/write': {
    group: 'Frames',
    methods: { POST: { ...write('writeLinesV2'), uses: [{ gives: 'the same as `/write`', section }] } },
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
        uses: [{ gives: 'the versions of line protocol, for clients of QuestDB', section }],
      },
    },
  },
} as const satisfies EndpointTable;
