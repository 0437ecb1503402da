import type { EndpointTable } from './endpoint-table.ts';
import { FRAME_ENDPOINTS } from './frame-endpoints.ts';
import { LINE_ENDPOINTS } from './line-endpoints.ts';
import { QUERY_ENDPOINTS } from './query-endpoints.ts';
import { QUESTDB_ENDPOINTS } from './questdb-endpoints.ts';
import { READ_ENDPOINTS } from './read-endpoints.ts';
import { STATE_ENDPOINTS } from './state-endpoints.ts';

/** The paths of the API that are here even if all others are those of the database. */
export const API_ENDPOINTS = {
  ...READ_ENDPOINTS,
  ...FRAME_ENDPOINTS,
  ...QUERY_ENDPOINTS,
  ...STATE_ENDPOINTS,
} as const satisfies EndpointTable;

/**
 * Every path of the API: it routes requests, tells parsers the names of the parameters, and describes the API in
 * `/openapi.json` and the documentation.
 */
export const ENDPOINTS = {
  ...API_ENDPOINTS,
  ...LINE_ENDPOINTS,
  ...QUESTDB_ENDPOINTS,
} as const satisfies EndpointTable;
