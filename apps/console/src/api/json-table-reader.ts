// Only windows in JSON load the reader of JSON tables.
export { createJsonTableReader } from '@svc/client/internal';
