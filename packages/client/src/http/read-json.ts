import { invalidResponse } from './client-error.ts';
import { readText } from './response-body.ts';
import type { ClientResponse } from './request.ts';

const MAX_BYTES = 256 * 1024 * 1024;

/** Reads a short response as JSON. Its form is part of the API; only that it is an object is checked. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller knows what it asked for.
export async function readJson<T extends object>({ body, requestId, status }: ClientResponse): Promise<T> {
  const text = await readText(body, MAX_BYTES);
  try {
    const value: unknown = JSON.parse(text);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (typeof value === 'object' && value !== null) return value as T;
  } catch {
    // It is reported as any other text.
  }
  throw invalidResponse('The response is not JSON of a data-frame server.', { status, requestId });
}
