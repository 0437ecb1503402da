import { flight } from '@svc/proto';
import { describe, expect, test } from 'vitest';
import type { Cluster } from '../cluster.ts';
import { serverOf } from './create-flight-driver.ts';

const PLAIN: Cluster = { protocol: 'flight-sql', host: 'Flight.example', port: 1, hasTls: false, token: 's' };
const SECURE: Cluster = { ...PLAIN, hasTls: true };

function endpointAt(...uris: readonly string[]): flight.FlightEndpoint {
  return flight.FlightEndpoint.fromPartial({ location: uris.map((uri) => ({ uri })) });
}

describe('the data of an endpoint', () => {
  test.each<[string, readonly string[], Cluster, Partial<Cluster>]>([
    ['without a place', [], PLAIN, { port: 1 }],
    ['on the same connection', ['arrow-flight-reuse-connection://?'], SECURE, { port: 1, hasTls: true }],
    ['on another port', ['grpc+tcp://flight.example:2'], PLAIN, { port: 2, hasTls: false }],
    ['on a port with TLS', ['grpc+tls://flight.example:2'], PLAIN, { port: 2, hasTls: true }],
    ['at the first usable place', ['grpc://x:1', 'grpc://flight.example:3/'], PLAIN, { port: 3 }],
    ['of a host with an address', ['grpc://[::1]:4'], { ...PLAIN, host: '::1' }, { port: 4, host: '::1' }],
  ])('%s is on the host of the scheduler', (_where, uris, cluster, expected) => {
    expect(serverOf(endpointAt(...uris), cluster)).toMatchObject({ token: 's', ...expected });
  });

  test.each([
    ['another host', 'grpc://other.example:1', PLAIN],
    ['a host with the same end', 'grpc://evil-flight.example:1', PLAIN],
    ['a user part', 'grpc://flight.example:1@evil.example:2', PLAIN],
    ['a port without TLS', 'grpc+tcp://flight.example:1', SECURE],
    ['another protocol', 'https://flight.example:1', PLAIN],
    ['no port', 'grpc://flight.example', PLAIN],
  ])('at %s is scheduler_failed', (_where, uri, cluster) => {
    expect(() => serverOf(endpointAt(uri), cluster)).toThrow(expect.objectContaining({ code: 'scheduler_failed' }));
  });
});
