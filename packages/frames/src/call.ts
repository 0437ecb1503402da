import { randomUUID } from 'node:crypto';

/** Who asks, on behalf of whom, and until when: the first argument of every operation. */
export interface Call {
  /** The tenant whose frames the call sees. */
  readonly tenant: string;
  /** Where the call comes from, for shares of what is scarce. Left out, it shares with all others that leave it out. */
  readonly client?: Client | undefined;
  /** Names the request in answers and in the log. */
  readonly requestId: string;
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Whether the signal is aborted, for calls that make their signal when it is first asked for: one takes longer to make
   * than a short answer. Default: what the signal says.
   */
  readonly isCancelled?: boolean;
}

/** One end of a connection. */
export interface Client {
  readonly address: string;
  /** Tells the connections of an address apart. */
  readonly connection: string;
}

/** Whether nobody waits for the answer any more. Asks for the signal of a call only where nothing else says it. */
export function isCancelled(call: Call): boolean {
  return call.isCancelled ?? call.signal.aborted;
}

/** The only tenant while there is no authentication. */
export const DEFAULT_TENANT = 'default';

/** The client's own id of a request where it sent one that is safe to log and to send back, else a new one. */
export function requestIdFrom(sent: string | undefined): string {
  return sent !== undefined && SANE_REQUEST_ID.test(sent) ? sent : randomUUID();
}

const SANE_REQUEST_ID = /^[\w.:/+=@-]{1,128}$/;
