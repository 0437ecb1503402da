import { ENCODINGS } from '@svc/frames';
import type { EndpointResponse } from './endpoint-response.ts';

/** Returns a response with a JSON body. */
export function jsonResponse(
  value: unknown,
  status = 200,
): Extract<EndpointResponse, { body?: unknown }> & { readonly body: string } {
  return { status, headers: { 'content-type': ENCODINGS.json.out.contentType }, body: JSON.stringify(value) };
}
