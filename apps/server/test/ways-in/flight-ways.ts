import { flight, flightSql } from '@svc/proto';
import { pathOf } from '../flight-client.ts';
import { flights, packed, prepareBody, rpc, upload } from './flight-messages.ts';
import { drain, one, SQL, type Target, type Way } from './way.ts';

const NOT_FOUND = { elsewhere: 'handle_not_found' };
/** The tickets and statements of another tenant are unknown. */
const UNKNOWN = { elsewhere: 'invalid_argument' };

/** The FlightInfo of the ticket. */
const infoOf = ({ ticket }: Target) => flight.FlightInfo.fromPartial({ endpoint: [{ ticket: { ticket } }] });

/** The entry of an action: the server lists its actions itself. */
export const actionEntry = (type: string): string => `action ${type}`;

type ActionRow = Omit<Way, 'entries' | 'send'> & { readonly body?: (target: Target) => Uint8Array };

const ACTIONS: Readonly<Record<string, ActionRow | readonly ActionRow[]>> = {
  CancelFlightInfo: { body: (target) => flight.CancelFlightInfoRequest.encode({ info: infoOf(target) }).finish() },
  CancelQuery: {
    body: (target) => {
      const info = flight.FlightInfo.encode(infoOf(target)).finish();
      return packed('ActionCancelQueryRequest', flightSql.ActionCancelQueryRequest.encode({ info }).finish());
    },
  },
  RenewFlightEndpoint: {
    ...UNKNOWN,
    body: (target) => flight.RenewFlightEndpointRequest.encode({ endpoint: infoOf(target).endpoint[0] }).finish(),
  },
  SetSessionOptions: {},
  GetSessionOptions: {},
  CloseSession: {},
  CreatePreparedStatement: [
    { detail: 'a query', operation: 'describeQuery', elsewhere: 'invalid_sql', body: () => prepareBody(SQL) },
    { detail: 'DROP TABLE', operation: 'dropFrame', body: () => prepareBody('drop table none') },
    {
      detail: 'CREATE TABLE AS',
      operation: 'keepQuery',
      body: () => prepareBody(`create or replace table kept as ${SQL}`),
    },
  ],
  ClosePreparedStatement: {
    body: () => {
      const request = { preparedStatementHandle: Buffer.alloc(16) };
      const value = flightSql.ActionClosePreparedStatementRequest.encode(request).finish();
      return packed('ActionClosePreparedStatementRequest', value);
    },
  },
};

const ACTION_WAYS: readonly Way[] = Object.entries(ACTIONS).flatMap(([type, rows]) =>
  [rows].flat().map(({ body = () => new Uint8Array(0), ...row }): Way => ({
    entries: [actionEntry(type), rpc('DoAction')],
    ...row,
    send: flights((client, options, target) => drain(client.doAction({ type, body: body(target) }, options))),
  })),
);

/** Every way to use Arrow Flight with a path, with a ticket, and with an action. */
export const FLIGHT_WAYS: readonly Way[] = [
  ...ACTION_WAYS,
  {
    entries: [rpc('DoAction')],
    detail: 'an unknown one',
    allowed: 'method_not_allowed',
    send: flights((client, options) => drain(client.doAction({ type: 'None' }, options))),
  },
  { entries: [rpc('ListActions')], send: flights((client, options) => drain(client.listActions({}, options))) },
  {
    entries: [rpc('ListFlights')],
    operation: 'listFrames',
    send: flights((client, options) => drain(client.listFlights({}, options))),
  },
  ...(['getFlightInfo', 'pollFlightInfo', 'getSchema'] as const).map((method): Way => ({
    entries: [rpc(flight.FlightServiceDefinition.methods[method].name)],
    detail: 'a frame',
    operation: 'readFrame',
    ...NOT_FOUND,
    send: flights((client, options) => client[method](pathOf('shown'), options)),
  })),
  {
    entries: [rpc('DoGet')],
    operation: 'readFrame',
    ...UNKNOWN,
    send: flights((client, options, { ticket }) => drain(client.doGet({ ticket }, options))),
  },
  {
    entries: [rpc('DoPut')],
    detail: 'a frame',
    operation: 'putFrame',
    send: flights((client, options) => drain(client.doPut(upload(pathOf('put')), options))),
  },
  {
    entries: [rpc('DoExchange')],
    allowed: 'method_not_allowed',
    send: flights((client, options) => drain(client.doExchange(upload(pathOf('put')), options))),
  },
  {
    // Without credentials in the metadata, those in the message count: here there are none either.
    entries: [rpc('Handshake')],
    send: flights((client, options) => drain(client.handshake(one({ payload: new Uint8Array(0) }), options))),
  },
];
