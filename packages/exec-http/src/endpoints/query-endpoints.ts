import type { EndpointTable } from './endpoint-table.ts';
import { QUERY_PARAMS, RUNNING_PARAMS } from './parameters.ts';

const section = 'running-sql';

/** The paths of running SQL, and of what the server can do. */
export const QUERY_ENDPOINTS = {
  '/queries': {
    group: 'Server',
    methods: {
      GET: {
        id: 'listQueries',
        summary: 'List the running SQL',
        operation: 'listQueries',
        params: RUNNING_PARAMS,
        responses: { 200: { means: 'The statements that wait, run, or send their result.', content: 'query_list' } },
        uses: [{ gives: 'the running SQL', section }],
      },
    },
  },
  '/queries/{id}': {
    group: 'Server',
    pathParams: QUERY_PARAMS,
    methods: {
      GET: {
        id: 'findQuery',
        summary: 'Show the running SQL of a request',
        operation: 'findQuery',
        params: RUNNING_PARAMS,
        responses: { 200: { means: 'The state of the statement.', content: 'query' } },
        errors: ['query_not_found'],
        uses: [{ gives: 'the SQL of one request', section }],
      },
      DELETE: {
        id: 'cancelQuery',
        summary: 'Cancel the running SQL of a request',
        operation: 'cancelQuery',
        refusesOthers: true,
        responses: { 204: { means: 'The statement is cancelled.' } },
        errors: ['query_not_found'],
        uses: [{ gives: 'cancels it', section }],
      },
    },
  },
  '/info': {
    group: 'Server',
    methods: {
      GET: {
        id: 'info',
        summary: 'Show what this server can do',
        responses: { 200: { means: 'The version, engines, formats and limits.', content: 'info' } },
        uses: [{ gives: 'what this server can do: engines, formats, limits', section: 'what-the-server-can-do' }],
      },
    },
  },
} as const satisfies EndpointTable;
