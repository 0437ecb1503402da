import { ENDPOINTS, type EndpointTable } from '@svc/exec-http';

/** The paths of the server besides those of the API. */
export const OWN_ENDPOINTS = {
  '/': {
    group: 'Server',
    methods: {
      GET: {
        id: 'index',
        summary: 'List the paths of this server',
        responses: { 200: { means: 'The list, as plain text.', content: 'text' } },
        uses: [{ gives: 'this list, as plain text' }],
      },
    },
  },
} as const satisfies EndpointTable;

/** Every path of the server. */
export const SERVER_ENDPOINTS: EndpointTable = { ...ENDPOINTS, ...OWN_ENDPOINTS };
