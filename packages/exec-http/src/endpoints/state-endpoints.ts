import type { EndpointTable } from './endpoint-table.ts';
import { ETAG_HEADERS } from './headers.ts';

const READY = { 200: { means: 'The server is ready.', content: 'state' } } as const;
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
          304: { means: 'The client has it already.', headers: ['etag'] },
        },
        uses: [{ gives: 'the description of this API, in OpenAPI 3.1', section: 'the-description-of-the-api' }],
      },
    },
  },
} as const satisfies EndpointTable;
