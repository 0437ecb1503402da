/** The compressions of an upload. */
export const CONTENT_CODINGS = ['gzip', 'zstd'] as const;

/** The compression of an upload. */
export type ContentCoding = (typeof CONTENT_CODINGS)[number];
