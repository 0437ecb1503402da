import { status as Status } from '@grpc/grpc-js';
import { HealthCheckResponseServingStatus as ServingStatus, HealthDefinition } from '@svc/proto';
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

test('Check of a service that is not there is NOT_FOUND', async () => {
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
])('Watch of %j begins with the state %i, and stays until the client leaves', async (service, state) => {
  const { channel, answered } = await startServer();
  for await (const { status } of createClient(HealthDefinition, channel).watch({ service })) {
    expect(status).toBe(state);
    break;
  }
  await expect.poll(() => answered().map(({ status }) => status)).toEqual(['CANCELLED']);
});
