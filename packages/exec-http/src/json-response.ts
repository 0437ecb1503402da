import { ENCODINGS } from '@svc/frames';
import type { Answer } from './endpoint-response.ts';

/** A value as the JSON body of an answer. */
export function jsonAnswer(value: unknown, status = 200): Extract<Answer, { body?: unknown }> {
  return { status, headers: { 'content-type': ENCODINGS.json.out.contentType }, body: JSON.stringify(value) };
}
