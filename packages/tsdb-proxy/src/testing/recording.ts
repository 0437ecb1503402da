import { readFileSync, writeFileSync } from 'node:fs';
import type { RawResponse, RawRequest } from './ask.ts';

/** A request that was asked of a real database, and what it answered. */
export interface RecordedCase extends RawRequest {
  readonly id: string;
  /** The database that was asked: one that is open to all, or one with a user, read-only and with 5 rows at most. */
  readonly profile?: 'secured';
  /** Its body holds numbers that are others each time. */
  readonly volatile?: true;
  /** Undefined: it closed the connection, or what it sent was not HTTP. */
  readonly answer?: RecordedResponse;
}

/** An answer as it stands in the file. */
interface RecordedResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body, where it is not text. */
  readonly bodyBase64?: string;
}

const FILE = new URL('questdb-recording.json', import.meta.url);

/** The user and password of the secured database. */
export const SECURED_USER = { user: 'admin', password: 'quest' } as const;

/** Requests to a QuestDB 9.3.4 and its answers, in an order in which they can be asked again. */
export function loadRecording(): readonly RecordedCase[] {
  const { cases }: { cases: readonly RecordedCase[] } = JSON.parse(readFileSync(FILE, 'utf8'));
  return cases;
}

/** Writes the recording anew, with the answers of today. */
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

/** The answer of a case as `ask` gives it. */
export function responseOf({ answer }: RecordedCase): RawResponse | undefined {
  if (answer === undefined) return undefined;
  const { status, reason, headers, body, bodyBase64 } = answer;
  const bytes = bodyBase64 === undefined ? Buffer.from(body ?? '') : Buffer.from(bodyBase64, 'base64');
  return { status, reason, headers, body: bytes };
}

/** What must be the same of two answers to a case: not the numbers of a volatile one, nor those of a file made up for it. */
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
