import { readFileSync, writeFileSync } from 'node:fs';
import type { RawResponse, RawRequest } from './ask.ts';

/** A request to a real database, and its response. */
export interface RecordedCase extends RawRequest {
  readonly id: string;
  /** Which database: by default one without authentication; `secured`: with a user, read-only, at most 5 rows. */
  readonly profile?: 'secured';
  /** The numbers in the body differ each time. */
  readonly volatile?: true;
  /** Undefined: it closed the connection, or did not speak HTTP. */
  readonly answer?: RecordedResponse;
}

/** A response as recorded in the file. */
interface RecordedResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body, if it is not text. */
  readonly bodyBase64?: string;
}

const FILE = new URL('questdb-recording.json', import.meta.url);

/** The user and password of the secured database. */
export const SECURED_USER = { user: 'admin', password: 'quest' } as const;

/** Loads requests to QuestDB 9.3.4 and their responses, in an order in which they can be replayed. */
export function loadRecording(): readonly RecordedCase[] {
  const { cases }: { cases: readonly RecordedCase[] } = JSON.parse(readFileSync(FILE, 'utf8'));
  return cases;
}

/** Rewrites the recording with new responses. */
export function saveRecording(
  cases: readonly RecordedCase[],
  answers: ReadonlyMap<string, RawResponse | undefined>,
): void {
  const { database }: { database: string } = JSON.parse(readFileSync(FILE, 'utf8'));
  const renewed = cases.map(({ answer: _before, ...asked }) => {
    const answer = answers.get(asked.id);
    return answer === undefined ? asked : { ...asked, answer: toRecorded(answer) };
  });
  writeFileSync(FILE, `${JSON.stringify({ database, cases: renewed }, null, 2)}\n`);
}

function toRecorded({ status, reason, headers, body }: RawResponse): RecordedResponse {
  const { date: _today, ...others } = headers;
  const text = body.toString();
  const isText = body.equals(Buffer.from(text));
  return { status, reason, headers: others, ...(isText ? { body: text } : { bodyBase64: body.toString('base64') }) };
}

/** Returns the response of a case in the form of `ask`. */
export function responseOf({ answer }: RecordedCase): RawResponse | undefined {
  if (answer === undefined) return undefined;
  const { status, reason, headers, body, bodyBase64 } = answer;
  const bytes = bodyBase64 === undefined ? Buffer.from(body ?? '') : Buffer.from(bodyBase64, 'base64');
  return { status, reason, headers, body: bytes };
}

/** Returns the stable parts of a response, without volatile numbers and generated file names. */
export function comparable({ volatile }: RecordedCase, answer: RawResponse | undefined): unknown {
  if (answer === undefined) return undefined;
  const { status, headers, body } = answer;
  const text = body.toString('latin1');
  return {
    status,
    type: headers['content-type'],
    disposition: headers['content-disposition']?.replace(/questdb-query-\d+/, 'questdb-query-0'),
    encoding: headers['content-encoding'],
    body: volatile === true ? text.replaceAll(/\d+/g, '0') : text,
  };
}
