import { status as Status } from '@grpc/grpc-js';
import { createMemoryStore, type StoreFault } from '@svc/frames';
import { HealthCheckResponseServingStatus as ServingStatus, HealthDefinition } from '@svc/proto';
import { createService } from '@svc/service';
import { createClient } from 'nice-grpc';
import { expect, test } from 'vitest';
import { failureOf, startServer } from '../test/start-server.ts';

const NAMES = ['', 'svc.frames.v1.FrameService', 'grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection'];

test.each(NAMES)('Check of %j is SERVING, and NOT_SERVING once the service stops', async (name) => {
  const { channel, service } = await startServer();
  const health = createClient(HealthDefinition, channel);
  expect((await health.check({ service: name })).status).toBe(ServingStatus.SERVING);
  service.stop();
  expect((await health.check({ service: name })).status).toBe(ServingStatus.NOT_SERVING);
});

test('Check of an unknown service is NOT_FOUND', async () => {
  const { channel } = await startServer();
  const failure = await failureOf((options) =>
    createClient(HealthDefinition, channel).check({ service: 'nope' }, options),
  );
  expect(failure).toMatchObject({ code: Status.NOT_FOUND, details: 'This server has no service "nope".' });
  expect(failure.requestId).toMatch(/./);
});

test.each([
  ['', ServingStatus.SERVING],
  ['nope', ServingStatus.SERVICE_UNKNOWN],
])('Watch of %j begins with the state %i, and lasts until the client cancels', async (service, state) => {
  const { channel, answered } = await startServer();
  for await (const { status } of createClient(HealthDefinition, channel).watch({ service })) {
    expect(status).toBe(state);
    break;
  }
  await expect.poll(() => answered().map(({ status }) => status)).toEqual(['CANCELLED']);
});

test('Watch reports that the store fails and recovers, and so does Check', { tags: ['slow'] }, async () => {
  const store = createMemoryStore();
  let faults: readonly StoreFault[] = [];
  const service = createService({ store: { ...store, faults: async () => faults } });
  const { channel } = await startServer({ health: () => service.health() });
  const client = createClient(HealthDefinition, channel);
  const seen: number[] = [];
  for await (const { status } of client.watch({ service: '' })) {
    seen.push(status);
    expect((await client.check({ service: '' })).status).toBe(status);
    if (seen.length === 3) break;
    faults = seen.length === 1 ? [{ kind: 'cannot_write', message: 'The disk is read-only.' }] : [];
  }
  expect(seen).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING, ServingStatus.SERVING]);
});
