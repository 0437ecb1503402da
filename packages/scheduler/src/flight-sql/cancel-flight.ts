import { setTimeout } from 'node:timers/promises';
import { flight, flightSql, packFlightSql } from '@svc/proto';
import { rememberSuccess } from '../remember-success.ts';
import { unpack } from './commands.ts';
import type { CallScope, Connection } from './connection.ts';
import { act } from './prepared-statement.ts';

/** Cancels a query on the server. Resolves when the server has confirmed it; false if it cannot. */
export type CancelFlight = (scope: CallScope, info: flight.FlightInfo) => Promise<boolean>;

/** Creates the function that cancels queries on a server, in the way that the server offers. */
export function createCancelFlight(connection: Connection): CancelFlight {
  const actions = rememberSuccess((scope: CallScope) => listActions(connection, scope));

  return async (scope, info) => {
    const names = await actions.get(scope);
    const cancel = WAYS.find(({ action }) => names.has(action));
    if (cancel === undefined) return false;
    for (;;) {
      const answer = await act(connection, scope, { type: cancel.action, body: cancel.encode(info) });
      const state = answer === undefined ? 'done' : cancel.decode(answer);
      if (state !== 'cancelling') return state === 'done';
      await setTimeout(RETRY_MS, undefined, { signal: scope.signal });
    }
  };
}

const RETRY_MS = 100;

interface Way {
  readonly action: string;
  encode(info: flight.FlightInfo): Uint8Array;
  decode(answer: Uint8Array): 'done' | 'cancelling' | 'impossible';
}

/** The second one is that of servers before Flight 13. */
const WAYS: readonly Way[] = [
  {
    action: 'CancelFlightInfo',
    encode: (info) => flight.CancelFlightInfoRequest.encode({ info }).finish(),
    decode(answer) {
      const { status } = flight.CancelFlightInfoResult.decode(answer);
      if (status === flight.CancelStatus.CANCEL_STATUS_CANCELLING) return 'cancelling';
      // A query that is over cannot be cancelled.
      return status === flight.CancelStatus.CANCEL_STATUS_UNSPECIFIED ? 'impossible' : 'done';
    },
  },
  {
    action: 'CancelQuery',
    encode(info) {
      const request = flightSql.ActionCancelQueryRequest.encode({ info: flight.FlightInfo.encode(info).finish() });
      return packFlightSql('ActionCancelQueryRequest', request.finish());
    },
    decode(answer) {
      const { result } = flightSql.ActionCancelQueryResult.decode(unpack(answer));
      const { CANCEL_RESULT_CANCELLING, CANCEL_RESULT_UNSPECIFIED } = flightSql.ActionCancelQueryResultCancelResult;
      if (result === CANCEL_RESULT_CANCELLING) return 'cancelling';
      return result === CANCEL_RESULT_UNSPECIFIED ? 'impossible' : 'done';
    },
  },
];

function listActions(connection: Connection, scope: CallScope): Promise<ReadonlySet<string>> {
  return connection.call(scope, async (client, options) => {
    const names = new Set<string>();
    for await (const { type } of client.listActions({}, options)) names.add(type);
    return names;
  });
}
