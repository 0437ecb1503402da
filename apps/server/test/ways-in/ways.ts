import { flight } from '@svc/proto';
import { requiredPermissions } from '@svc/service';
import type { Permission } from '@svc/auth';
import { type ChannelCredentials, createChannel, createClient, Metadata } from 'nice-grpc';
import type { TestCaller } from '../callers.ts';
import { pathOf } from '../flight-client.ts';
import type { ServerProcess } from '../server-process.ts';
import { prepare } from './flight-messages.ts';
import { FLIGHT_SQL_WAYS } from './flight-sql-ways.ts';
import { FLIGHT_WAYS } from './flight-ways.ts';
import { FRAME_SERVICE_WAYS } from './frame-service-ways.ts';
import { HTTP_WAYS } from './http-ways.ts';
import { SQL, type Target, type Way } from './way.ts';

/** The table of all ways to use the server. */
export const WAYS: readonly Way[] = [...HTTP_WAYS, ...FRAME_SERVICE_WAYS, ...FLIGHT_WAYS, ...FLIGHT_SQL_WAYS];

/** A sample: all rows that need a permission, and for each other entry the first row. */
export const SAMPLE: readonly Way[] = WAYS.filter(
  (way, i) =>
    way.operation !== undefined ||
    way.entries.some((entry) => !WAYS.slice(0, i).some(({ entries }) => entries.includes(entry))),
);

/** Whether a row prepares a statement, and so does not run its operation yet. */
export const isPreparation = ({ entries }: Way): boolean => entries[0] === 'action CreatePreparedStatement';

/** Puts the frame `shown` of a caller, connects, and gets the tickets and statements of the caller. */
export async function openTarget(server: ServerProcess, authorization: string): Promise<Target> {
  const { status } = await server.put('shown', [{ id: 1 }], { headers: { authorization } });
  if (status !== 201) throw new Error(`PUT /frames/shown was answered with ${status}.`);
  return connectTarget(server, authorization);
}

/** Connects to a server, and gets the tickets and statements of a caller, who has the frame `shown`. */
export async function connectTarget(
  { url, grpcAddress }: Pick<ServerProcess, 'grpcAddress' | 'url'>,
  authorization: string,
  credentials?: ChannelCredentials,
): Promise<Target> {
  const channel = createChannel(grpcAddress, credentials);
  const client = createClient(flight.FlightServiceDefinition, channel);
  const options = { metadata: Metadata({ authorization }) };
  const { endpoint } = await client.getFlightInfo(pathOf('shown'), options);
  return {
    url,
    channel,
    ticket: endpoint[0]?.ticket?.ticket ?? new Uint8Array(0),
    query: await prepare(client, SQL, options),
    update: await prepare(client, 'drop table none', options),
    insert: await prepare(client, 'insert into shown (none) values (?)', options),
  };
}

/** The permissions that a row needs. */
export function permissionsOf({ operation, permission, target }: Way): readonly Permission[] {
  if (permission !== undefined) return [permission];
  return operation === undefined ? [] : requiredPermissions(operation, target);
}

/** The outcome of a row for a caller of the tenant alpha, which has the frame `shown`, or of one without frames. */
export function outcomeFor(way: Way, { tenant, permissions }: Pick<TestCaller, 'permissions' | 'tenant'>): string {
  const { allowed = 'ok', elsewhere = allowed } = way;
  // What a ticket or a statement of another tenant would do, and so what it needs, is not known.
  if (tenant !== 'alpha' && elsewhere === 'invalid_argument') return elsewhere;
  const isAllowed = permissionsOf(way).every((name) => permissions.includes(name));
  return !isAllowed ? 'permission_denied' : tenant === 'alpha' ? allowed : elsewhere;
}

/** The outcome of a row for a request without credentials, and for one with wrong ones. */
export function outcomesOfStrangers(way: Way): { readonly none: string; readonly wrong: string } {
  const allowed = way.allowed ?? 'ok';
  return {
    none: way.access === undefined ? 'unauthenticated' : allowed,
    wrong: way.access === 'open' ? allowed : 'unauthenticated',
  };
}
