import { status as Status } from '@grpc/grpc-js';
import { type Partially, reflectionV1, reflectionV1alpha } from '@svc/proto';
import { createClient } from 'nice-grpc';
import { describe, expect, test } from 'vitest';
import { collect, failureOf, startServer } from '../test/start-server.ts';

async function* each<T>(items: readonly T[]) {
  yield* items;
}

describe.each([
  ['v1', reflectionV1.ServerReflectionDefinition],
  ['v1alpha', reflectionV1alpha.ServerReflectionDefinition],
])('reflection %s', (_version, definition) => {
  async function ask(...questions: Partially<reflectionV1.ServerReflectionRequest>[]) {
    const { channel } = await startServer();
    return collect(createClient(definition, channel).serverReflectionInfo(each(questions)));
  }

  test('lists the services', async () => {
    const [answer] = await ask({ host: 'h', listServices: '*' });
    expect(answer?.listServicesResponse?.service.map(({ name }) => name)).toEqual([
      'arrow.flight.protocol.FlightService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
      'svc.frames.v1.FrameService',
    ]);
    expect(answer).toMatchObject({ validHost: 'h', originalRequest: { listServices: '*' } });
  });

  test.each([
    [
      { fileContainingSymbol: 'svc.frames.v1.FrameService' },
      ['svc/frames/v1/frames.proto', 'google/protobuf/timestamp.proto'],
    ],
    [
      { fileContainingSymbol: '.svc.frames.v1.FrameInfo' },
      ['svc/frames/v1/frames.proto', 'google/protobuf/timestamp.proto'],
    ],
    [{ fileContainingSymbol: 'grpc.health.v1.Health.Check' }, ['grpc/health/v1/health.proto']],
    [{ fileByFilename: 'google/protobuf/timestamp.proto' }, ['google/protobuf/timestamp.proto']],
  ])('answers %o with the files %o', async (question, names) => {
    const [answer] = await ask(question);
    const files = answer?.fileDescriptorResponse?.fileDescriptorProto ?? [];
    // Field 1 of a FileDescriptorProto is its name, and comes first.
    expect(
      files.map((bytes) =>
        Buffer.from(bytes)
          .subarray(2, 2 + (bytes[1] ?? 0))
          .toString(),
      ),
    ).toEqual(names);
  });

  test.each([
    [{ fileContainingSymbol: 'nope' }, Status.NOT_FOUND, 'This server has no symbol "nope".'],
    [{ fileByFilename: '../../etc/passwd' }, Status.NOT_FOUND, 'This server has no file "../../etc/passwd".'],
    [{ allExtensionNumbersOfType: 'nope' }, Status.NOT_FOUND, 'This server has no type "nope".'],
    [
      { fileContainingExtension: { containingType: 'a.B', extensionNumber: 1 } },
      Status.NOT_FOUND,
      'This server has no extension of type "a.B".',
    ],
    [{}, Status.INVALID_ARGUMENT, 'The request is empty.'],
  ])('answers %o with an error, and still answers the next question', async (question, errorCode, errorMessage) => {
    const [first, second] = await ask(question, { listServices: '' });
    expect(first?.errorResponse).toEqual({ errorCode, errorMessage });
    expect(second?.listServicesResponse?.service).toHaveLength(5);
  });

  test('has no extensions of its types', async () => {
    const [answer] = await ask({ allExtensionNumbersOfType: 'svc.frames.v1.FrameInfo' });
    expect(answer?.allExtensionNumbersResponse).toEqual({
      baseTypeName: 'svc.frames.v1.FrameInfo',
      extensionNumber: [],
    });
  });
});

async function* open() {
  yield { listServices: '' };
  await new Promise(() => {});
}

test('an open stream does not delay the shutdown of the server', async () => {
  const { channel, server } = await startServer();
  const failure = failureOf(async (options) => {
    const client = createClient(reflectionV1.ServerReflectionDefinition, channel);
    for await (const _ of client.serverReflectionInfo(open(), options)) void server.shutdown();
  });
  expect(await failure).toMatchObject({ code: Status.UNAVAILABLE, errorCode: 'unavailable' });
  await server.shutdown();
});
