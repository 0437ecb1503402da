import { Any, flight, flightSql, packFlightSql } from '@svc/proto';

/** Returns the bytes of a Flight SQL message in an Any. */
export function unpack(bytes: Uint8Array): Uint8Array {
  return Any.decode(bytes).value;
}

/** The descriptor of a query. */
export function statementQuery(query: string): flight.FlightDescriptor {
  const command = flightSql.CommandStatementQuery.encode({ query, transactionId: undefined });
  return descriptor('CommandStatementQuery', command.finish());
}

/** The descriptor of a prepared query. */
export function preparedQuery(preparedStatementHandle: Uint8Array): flight.FlightDescriptor {
  const command = flightSql.CommandPreparedStatementQuery.encode({ preparedStatementHandle });
  return descriptor('CommandPreparedStatementQuery', command.finish());
}

function descriptor(name: string, value: Uint8Array): flight.FlightDescriptor {
  const { CMD } = flight.FlightDescriptorDescriptorType;
  return flight.FlightDescriptor.fromPartial({ type: CMD, cmd: packFlightSql(name, value) });
}
