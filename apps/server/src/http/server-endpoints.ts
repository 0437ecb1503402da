import { ENDPOINTS, type EndpointTable } from '@svc/exec-http';

/** The paths of the server besides those of the API. */
export const OWN_ENDPOINTS = {
  '/': { methods: { GET: { id: 'index', uses: [{ gives: 'this list, as plain text' }] } } },
} as const satisfies EndpointTable;

/** Every path of the server. */
export const SERVER_ENDPOINTS: EndpointTable = { ...ENDPOINTS, ...OWN_ENDPOINTS };
