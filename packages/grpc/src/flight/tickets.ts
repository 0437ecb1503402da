import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';

/** Encrypted and authenticated tickets, bound to a tenant. */
export interface Tickets {
  /** Issues a ticket for the tenant of the call. Returns it with its expiry time. */
  issue(call: Call, content: Uint8Array): { readonly ticket: Uint8Array; readonly expires: Date };
  /** Returns the content of a ticket; `invalid_argument` if it is forged, expired or of another tenant. */
  open(call: Call, ticket: Uint8Array): Uint8Array;
}

/** Options of `createTickets`. */
export interface TicketsOptions {
  /** How long a ticket is valid. Default: an hour. */
  readonly lifeMs?: number;
  /** The clock, in ms since 1970. */
  readonly now?: () => number;
}

/** Creates the tickets of one server, with a key that lives as long as the server. */
export function createTickets({ lifeMs = 3_600_000, now = Date.now }: TicketsOptions = {}): Tickets {
  const key = randomBytes(32);
  return {
    issue({ tenant }, content) {
      const expires = now() + lifeMs;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(tenant));
      const time = Buffer.alloc(TIME_BYTES);
      time.writeDoubleBE(expires);
      const sealed = [nonce, cipher.update(time), cipher.update(content), cipher.final(), cipher.getAuthTag()];
      return { ticket: Buffer.concat(sealed), expires: new Date(expires) };
    },
    open({ tenant }, ticket) {
      if (ticket.length < NONCE_BYTES + TIME_BYTES + TAG_BYTES) throw refused();
      const opener = createDecipheriv(CIPHER, key, ticket.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(tenant));
      opener.setAuthTag(ticket.subarray(-TAG_BYTES));
      const opened = opener.update(ticket.subarray(NONCE_BYTES, -TAG_BYTES));
      try {
        opener.final();
      } catch {
        throw refused();
      }
      if (opened.readDoubleBE() < now()) throw refused();
      return opened.subarray(TIME_BYTES);
    },
  };
}

/** Returns the map key of a ticket: its tenant, nonce and tag. Only its holder knows them, and the content may be long. */
export function ticketKey({ tenant }: Call, ticket: Uint8Array): string {
  const ends = Buffer.concat([ticket.subarray(0, NONCE_BYTES), ticket.subarray(-TAG_BYTES)]);
  return `${tenant} ${ends.toString('base64')}`;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TIME_BYTES = 8;
const TAG_BYTES = 16;

function refused(): ServiceError {
  return new ServiceError('invalid_argument', 'The ticket was not issued to you by this server, or has expired.', {
    hint: 'Get a new one with GetFlightInfo.',
  });
}
