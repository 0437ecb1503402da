import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { ticketKey } from './tickets.ts';

/** The running reads by their tickets. */
export interface RunningFlights {
  /** Registers a read. Returns a call that can be cancelled by the ticket; call `end` when the read is over. */
  begin<T extends Call>(call: T, ticket: Uint8Array): { readonly call: T; end(): void };
  /** Cancels the reads of a ticket. Returns false if there is none. */
  cancel(call: Call, ticket: Uint8Array): boolean;
}

/** Creates an empty set of running reads. */
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

/** The error of a read that its client cancelled. */
export const CANCELLED = new ServiceError('cancelled', 'The client cancelled the query.');
