import type { ParameterTable } from './endpoint-table.ts';

const TEXT = { type: 'string' } as const;

/** The request header of a read that may be answered from the cache of the client. */
export const ETAG_HEADERS = {
  'If-None-Match': {
    rule: 'Etags of versions that the client has, or `*`. If one is the current version: 304 and no body.',
    schema: TEXT,
  },
} as const satisfies ParameterTable;

/** The request headers of a read of bytes. */
export const RANGE_HEADERS = {
  ...ETAG_HEADERS,
  Range: {
    rule: 'The bytes to send: `bytes=0-1023`, `bytes=1024-`, or `bytes=-8` for the last 8. Several ranges, or a malformed header: ignored.',
    schema: TEXT,
  },
  'If-Range': {
    rule: 'The etag that `Range` belongs to. If the file is another one by now, all of it is sent.',
    schema: TEXT,
  },
  'If-Match': {
    rule: 'The etag of the file, or `*`. If the file is another one by now: 412 `precondition_failed`.',
    schema: TEXT,
  },
} as const satisfies ParameterTable;

/** The request headers of an upload. */
export const UPLOAD_HEADERS = {
  'If-None-Match': { rule: '`*`: put only if the handle is free, else 409 `handle_exists`.', schema: { enum: ['*'] } },
  'If-Match': {
    rule: 'The etag of the version to replace, or `*` for any version, else 409 `version_conflict`.',
    schema: TEXT,
  },
  'Content-Encoding': {
    rule: '`gzip` (or `x-gzip`), `zstd` or `identity`; any other, or more than one, is 415.',
    schema: { enum: ['gzip', 'x-gzip', 'zstd', 'identity'] },
  },
} as const satisfies ParameterTable;
