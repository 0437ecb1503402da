import { Readable } from 'node:stream';
import { Metadata, type ServiceError as CallError, status as Status } from '@grpc/grpc-js';
import { flight } from '@svc/proto';
import { describe, expect, test } from 'vitest';
import type { Cluster } from '../driver.ts';
import { readMessages } from './connection.ts';
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

/** A call that sends one message for each request, as those of grpc-js do. */
class FakeCall extends Readable {
  requests = 0;
  cancelled = 0;
  private readonly messages: unknown[];
  private readonly failure: CallError | undefined;

  constructor(messages: readonly unknown[], failure?: CallError) {
    super({ objectMode: true });
    this.messages = [...messages];
    this.failure = failure;
  }

  override _read(): void {
    this.requests++;
    const message = this.messages.shift();
    setImmediate(() => (message === undefined ? this.finish() : this.push(message)));
  }

  cancel(): void {
    this.cancelled++;
    this.finish();
  }

  getPeer(): string {
    return 'peer';
  }

  getAuthContext(): null {
    return null;
  }

  deserialize(): never {
    throw new Error('Not used.');
  }

  private finish(): void {
    this.push(null);
    if (this.failure !== undefined) this.emit('error', this.failure);
    this.emit('status', { code: this.failure?.code ?? Status.OK });
  }
}

const FAILURE: CallError = Object.assign(new Error('x'), {
  code: Status.INTERNAL,
  details: 'broken',
  metadata: new Metadata(),
});

function readerOf(call: FakeCall) {
  const reader = readMessages<unknown>(call, ({ details }) => new Error(`converted: ${details}`));
  return { reader, iterator: reader[Symbol.asyncIterator]() };
}

describe('readMessages', () => {
  test('requests a message only when it is asked for', async () => {
    const call = new FakeCall(Array.from({ length: 20 }, (_, i) => i));
    const { iterator } = readerOf(call);
    for (let i = 0; i < 20; i++) {
      expect(await iterator.next()).toEqual({ done: false, value: i });
      await new Promise((resolve) => setImmediate(resolve));
      expect(call.requests).toBe(i + 1);
    }
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test('fails with the converted status after the messages before it', async () => {
    const { iterator } = readerOf(new FakeCall(['a'], FAILURE));
    expect(await iterator.next()).toEqual({ done: false, value: 'a' });
    await expect(iterator.next()).rejects.toThrow('converted: broken');
    await expect(iterator.next()).rejects.toThrow('converted: broken');
  });

  test('cancels the call of a reader that stops', async () => {
    const call = new FakeCall(['a', 'b']);
    const { reader } = readerOf(call);
    for await (const message of reader) {
      expect(message).toBe('a');
      break;
    }
    expect(call.cancelled).toBe(1);
  });
});
