import type { JsonSchema, ResponseHeader } from '../endpoints/endpoint-table.ts';

/** A header of responses. */
export interface HeaderObject {
  readonly description: string;
  readonly required?: true;
  readonly schema: JsonSchema;
}

const TEXT = { type: 'string' } as const;

type ErrorHeader = 'allow' | 'retry-after' | 'www-authenticate';

/** The headers of responses. */
export const RESPONSE_HEADERS = {
  'x-request-id': { description: 'Identifies the request in the log.', required: true, schema: TEXT },
  etag: { description: 'The version of the frame or file, for conditional requests.', schema: TEXT },
  'x-total-count': { description: 'The number of rows in the whole frame.', schema: { type: 'integer', minimum: 0 } },
  location: { description: 'The path of the frame.', required: true, schema: TEXT },
  'content-disposition': { description: 'A name for the file.', schema: TEXT },
  'accept-ranges': { description: 'Whether `Range` works.', schema: { enum: ['bytes', 'none'] } },
  'content-range': { description: 'Which bytes these are, and how many there are.', schema: TEXT },
  'server-timing': {
    description: 'How long SQL waited (`queue`) and ran until its first rows (`execute`), in milliseconds.',
    schema: TEXT,
  },
  allow: { description: 'The methods of the path.', required: true, schema: TEXT },
  'retry-after': { description: 'When to retry, in seconds.', required: true, schema: { type: 'integer', minimum: 0 } },
  'www-authenticate': { description: 'Which credentials to send.', required: true, schema: TEXT },
} as const satisfies Readonly<Record<ErrorHeader | ResponseHeader | 'x-request-id', HeaderObject>>;

/** Returns headers by name, as references. */
export function headerRefs(names: readonly (keyof typeof RESPONSE_HEADERS)[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
