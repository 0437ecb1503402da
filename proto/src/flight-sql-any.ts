import { Any } from './generated/google-protobuf-any.ts';

/** What the type URL of a Flight SQL message begins with; the name of the message follows. */
export const FLIGHT_SQL_TYPE_PREFIX = 'type.googleapis.com/arrow.flight.protocol.sql.';

/** Packs an encoded Flight SQL message in an Any, as Flight SQL sends commands and actions. */
export function packFlightSql(name: string, value: Uint8Array): Uint8Array {
  return Any.encode({ typeUrl: `${FLIGHT_SQL_TYPE_PREFIX}${name}`, value }).finish();
}
