import { randomUUID } from 'node:crypto';

/** The client's own id of a request where it sent one that is safe to log and to send back, else a new one. */
export function requestIdFrom(sent: unknown): string {
  return typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
}

const SANE_ID = /^[\w.:/+=@-]{1,128}$/;
