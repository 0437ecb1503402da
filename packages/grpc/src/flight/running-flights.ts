import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { ticketKey } from './tickets.ts';

/** The reads that are going on, by their tickets. */
export interface RunningFlights {
  /** The call of a read, which can now also be ended by its ticket; `end` when it is over. */
  begin(call: Call, ticket: Uint8Array): { readonly call: Call; end(): void };
  /** Ends the reads of a ticket; false where there is none. */
  cancel(call: Call, ticket: Uint8Array): boolean;
}

/** Keeps track of reads. */
export function createRunningFlights(): RunningFlights {
  const running = new Map<string, Set<AbortController>>();

  return {
    begin(call, ticket) {
      const key = ticketKey(call, ticket);
      const controller = new AbortController();
      const own = running.get(key) ?? new Set();
      running.set(key, own.add(controller));
      return {
        call: { ...call, signal: AbortSignal.any([call.signal, controller.signal]) },
        end() {
          own.delete(controller);
          if (own.size === 0) running.delete(key);
        },
      };
    },
    cancel(call, ticket) {
      const own = running.get(ticketKey(call, ticket)) ?? new Set();
      for (const controller of own) controller.abort(CANCELLED);
      return own.size > 0;
    },
  };
}

/** Why a read ends that its client has cancelled. */
export const CANCELLED = new ServiceError('cancelled', 'The client cancelled the query.');
