import type { EndpointTable } from './endpoint-table.ts';
import { WRITE_ERRORS } from './frame-endpoints.ts';
import { UPLOAD_HEADERS } from './headers.ts';
import { IMPORT_PARAMS } from './parameters.ts';

const section = 'tools-of-questdb';

/** The paths for tools of QuestDB. If SQL is for the database by default, they are not here. */
export const QUESTDB_ENDPOINTS = {
  '/imp': {
    group: 'Frames',
    methods: {
      POST: {
        id: 'importFile',
        summary: 'Store the file in a form as a frame, or append it',
        // Which operation it is depends on `overwrite`; both need the same permission.
        operation: 'putFrame',
        params: IMPORT_PARAMS,
        headers: { 'Content-Encoding': UPLOAD_HEADERS['Content-Encoding'] },
        body: 'form',
        responses: { 200: { means: 'The rows are stored.', content: 'import' } },
        errors: WRITE_ERRORS,
        uses: [{ gives: 'appends the file in a form to a frame, or creates it', section }],
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
        uses: [{ gives: "an empty list, for QuestDB's web console", section }],
      },
    },
  },
} as const satisfies EndpointTable;
