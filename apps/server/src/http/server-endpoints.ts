import { ENDPOINTS, type EndpointTable } from '@svc/exec-http';

/** The paths of the server besides those of the API. */
export const OWN_ENDPOINTS = {
  '/': {
    group: 'Server',
    access: 'open',
    methods: {
      GET: {
        id: 'index',
        summary: 'List the paths of this server; for browsers, the console',
        responses: { 200: { means: 'The list, as plain text.', content: 'text' } },
        uses: [{ gives: 'this list, as plain text; for browsers, the console' }],
      },
    },
  },
} as const satisfies EndpointTable;

/** The files of the console. */
export const CONSOLE_ENDPOINTS = {
  '/console/assets/{file}': {
    group: 'Server',
    access: 'open',
    pathParams: {
      file: { rule: 'The name of a file that the console loads.', schema: { type: 'string' }, isRequired: true },
    },
    methods: {
      GET: {
        id: 'consoleFile',
        summary: 'Load a file of the console',
        responses: { 200: { means: 'The file.', content: 'page_file', headers: ['etag'] } },
        errors: ['route_not_found'],
        uses: [],
      },
    },
  },
} as const satisfies EndpointTable;

/** The path of the metrics. Answered however busy the server is: they are needed most then. */
export const METRICS_ENDPOINTS = {
  '/metrics': {
    group: 'Server',
    isProbe: true,
    methods: {
      GET: {
        id: 'metrics',
        summary: 'Read the metrics of this server',
        responses: { 200: { means: 'All metrics, in the text format of Prometheus or OpenMetrics.', content: 'text' } },
        errors: ['permission_denied'],
        uses: [{ gives: 'metrics for Prometheus', section: 'state-of-the-server' }],
      },
    },
  },
} as const satisfies EndpointTable;

/** Every path of the server. */
export const SERVER_ENDPOINTS: EndpointTable = {
  ...ENDPOINTS,
  ...METRICS_ENDPOINTS,
  ...CONSOLE_ENDPOINTS,
  ...OWN_ENDPOINTS,
};
