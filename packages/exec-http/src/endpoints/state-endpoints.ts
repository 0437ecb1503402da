import type { EndpointTable } from './endpoint-table.ts';
import { ETAG_HEADERS } from './headers.ts';
import { PAGE_PARAMS } from './parameters.ts';

const READY = { 200: { means: 'The server is ready.', content: 'state' } } as const;
const NOT_MODIFIED = { means: 'The client has it already.', headers: ['etag'] } as const;
const section = 'state-of-the-server';

/** The paths that tell the state of the server, and describe it. */
export const STATE_ENDPOINTS = {
  '/ping': {
    group: 'Server',
    access: 'open',
    isProbe: true,
    methods: {
      GET: {
        id: 'ping',
        summary: 'Check that the listener answers',
        responses: { 200: { means: 'The listener answers: `ok`.', content: 'text' } },
        uses: [{ gives: '`ok`', section }],
      },
    },
  },
  '/health': {
    group: 'Server',
    access: 'optional',
    isProbe: true,
    methods: {
      GET: {
        id: 'health',
        summary: 'Show the state of the server',
        responses: {
          200: { means: 'The server works, perhaps without some of its frames.', content: 'health' },
          503: { means: 'The store fails, or the server is stopping.', content: 'health' },
        },
        uses: [{ gives: 'the state of the server', section }],
      },
    },
  },
  '/ready': {
    group: 'Server',
    access: 'open',
    isProbe: true,
    methods: {
      GET: {
        id: 'ready',
        summary: 'Check that the server is ready',
        responses: READY,
        errors: ['unavailable'],
        uses: [{ gives: 'whether requests should be sent here: 200 or 503', section }],
      },
    },
  },
  '/readyz': {
    group: 'Server',
    access: 'open',
    isProbe: true,
    methods: {
      GET: {
        id: 'readyz',
        summary: 'Check that the server is ready',
        responses: READY,
        errors: ['unavailable'],
        uses: [{ gives: 'the same as `/ready`', section }],
      },
    },
  },
  '/livez': {
    group: 'Server',
    access: 'open',
    isProbe: true,
    methods: {
      GET: {
        id: 'livez',
        summary: 'Check that the process is alive',
        responses: { 200: { means: 'The process is alive.', content: 'state' } },
        uses: [{ gives: 'whether the process is alive', section }],
      },
    },
  },
  '/openapi.json': {
    group: 'Server',
    methods: {
      GET: {
        id: 'openapi',
        summary: 'Describe this API',
        headers: ETAG_HEADERS,
        responses: {
          200: { means: 'The description, in OpenAPI 3.1.', content: 'document', headers: ['etag'] },
          304: NOT_MODIFIED,
        },
        uses: [{ gives: 'the description of this API, in OpenAPI 3.1', section: 'the-description-of-the-api' }],
      },
    },
  },
  '/docs': {
    group: 'Server',
    access: 'open',
    methods: {
      GET: {
        id: 'docs',
        summary: 'Show this API as a page',
        headers: ETAG_HEADERS,
        responses: { 200: { means: 'The page.', content: 'page', headers: ['etag'] }, 304: NOT_MODIFIED },
        uses: [{ gives: 'the same as a page, to read and to try', section: 'the-description-of-the-api' }],
      },
    },
  },
  '/docs/{file}': {
    group: 'Server',
    access: 'open',
    pathParams: PAGE_PARAMS,
    methods: {
      GET: {
        id: 'docsFile',
        summary: 'Load a file of the page',
        headers: ETAG_HEADERS,
        responses: { 200: { means: 'The file.', content: 'page_file', headers: ['etag'] }, 304: NOT_MODIFIED },
        errors: ['route_not_found'],
        uses: [],
      },
    },
  },
} as const satisfies EndpointTable;
