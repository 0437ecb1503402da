import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import {
  DropFrameResponse,
  FrameInfo,
  FrameServiceDefinition,
  GetFrameRequest,
  HealthCheckResponse,
  HealthCheckResponseServingStatus,
  PutFrameRequest,
  reflectionV1,
  sparkConnect,
} from './index.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

/** The same message by protobufjs' own codec, read from the .proto file. */
async function reference(file: string, type: string): Promise<protobuf.Type> {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => (target.startsWith('google/') ? target : `${folder}${target}`);
  await root.load(file);
  return root.lookupType(type);
}

test('the generated files are up to date with the .proto files', { tags: ['slow'] }, () => {
  const check = spawnSync(process.execPath, ['tools/generate.js', '--check'], { cwd: folder, encoding: 'utf8' });
  expect(check.stderr).toBe('');
  expect(check.status).toBe(0);
});

describe('codecs', () => {
  test.each([0n, 1n, -1n, 2n ** 31n, 2n ** 32n, 2n ** 53n + 1n, MAX, MIN])('%d travels exactly', (value) => {
    const sent = GetFrameRequest.fromPartial({ handle: 'h', limit: value, offset: value });
    expect(GetFrameRequest.decode(GetFrameRequest.encode(sent).finish())).toEqual(sent);
  });

  test.each([MAX + 1n, MIN - 1n])('%d is refused, not wrapped', (limit) => {
    expect(() => GetFrameRequest.encode(GetFrameRequest.fromPartial({ limit }))).toThrow('does not fit into 64 bits');
  });

  test.each([0, -0, 1.5, -(2 ** -149), 2 ** 127, Infinity, NaN])('the float %d travels in four bytes', (float) => {
    const { ExpressionLiteral } = sparkConnect;
    const bytes = ExpressionLiteral.encode(ExpressionLiteral.fromPartial({ float })).finish();
    expect(bytes).toHaveLength(5);
    expect(ExpressionLiteral.decode(bytes).float).toBe(float);
  });

  test('an absent optional field and its zero are two things', () => {
    const [absent, zero] = [{}, { limit: 0n }].map(
      (partial) => GetFrameRequest.decode(GetFrameRequest.encode(GetFrameRequest.fromPartial(partial)).finish()).limit,
    );
    expect(absent).toBeUndefined();
    expect(zero).toBe(0n);
  });

  test('of a oneof the last one on the wire counts', () => {
    const target = PutFrameRequest.encode(PutFrameRequest.fromPartial({ target: { handle: 'h' } })).finish();
    const chunk = PutFrameRequest.encode(PutFrameRequest.fromPartial({ chunk: Uint8Array.of(7) })).finish();
    const both = PutFrameRequest.decode(Buffer.concat([target, chunk]));
    expect(both.target).toBeUndefined();
    expect([...(both.chunk ?? [])]).toEqual([7]);
  });

  test('an empty chunk is a chunk', () => {
    const sent = PutFrameRequest.encode(PutFrameRequest.fromPartial({ chunk: new Uint8Array(0) })).finish();
    expect(PutFrameRequest.decode(sent).chunk).toHaveLength(0);
  });

  test('fields of a newer version are skipped', () => {
    const newer = protobuf.Writer.create().uint32(8).int32(5).uint32(802).string('new').uint32(10).string('x').finish();
    expect(DropFrameResponse.decode(newer)).toEqual({});
  });

  test('a repeated number is read packed and unpacked', () => {
    const unpacked = protobuf.Writer.create().uint32(16).int32(3).uint32(18).fork().int32(4).int32(5).ldelim().finish();
    expect(reflectionV1.ExtensionNumberResponse.decode(unpacked).extensionNumber).toEqual([3, 4, 5]);
  });

  test.each([
    ['a text cut short', [10, 5, 104]],
    ['a nested message longer than its parent', [34, 2, 10, 9, 1]],
    ['an unfinished varint', [16, 0xff]],
    ['an impossible wire type', [15]],
  ])('%s is an error', (_what, bytes) => {
    expect(() => FrameInfo.decode(Uint8Array.from(bytes))).toThrow(Error);
  });
});

describe('against the codec of protobufjs', () => {
  const frame = FrameInfo.fromPartial({
    handle: 'trädes',
    rows: 2n ** 53n + 1n,
    bytes: 12n,
    columns: [
      { name: 'id', type: 'LONG' },
      { name: 'name', type: 'STRING', nullable: true },
    ],
    created: { seconds: 1_700_000_000n, nanos: 5 },
    version: '01',
    tier: 'memory',
  });

  test('what we write it reads, and what it writes we read', async () => {
    const type = await reference('svc/frames/v1/frames.proto', 'svc.frames.v1.FrameInfo');
    const bytes = FrameInfo.encode(frame).finish();
    expect(type.toObject(type.decode(bytes), { longs: String })).toEqual({
      ...frame,
      rows: '9007199254740993',
      bytes: '12',
      columns: [
        { name: 'id', type: 'LONG' },
        { name: 'name', type: 'STRING', nullable: true },
      ],
      created: { seconds: '1700000000', nanos: 5 },
      expires: undefined,
    });
    expect(FrameInfo.decode(type.encode(type.decode(bytes)).finish())).toEqual(frame);
  });

  test('the same of a map, a oneof and nested messages', async () => {
    const request = sparkConnect.ExecutePlanRequest.fromPartial({
      sessionId: 's',
      plan: {
        root: {
          common: { planId: 1n },
          read: {
            dataSource: { format: 'parquet', options: new Map([['k', 'v']]), paths: ['/a', '/b'] },
          },
        },
      },
      requestOptions: [{ reattachOptions: { reattachable: true } }],
    });
    const type = await reference('spark/connect/base.proto', 'spark.connect.ExecutePlanRequest');
    const bytes = sparkConnect.ExecutePlanRequest.encode(request).finish();
    expect(type.toObject(type.decode(bytes), { longs: String })).toEqual({
      sessionId: 's',
      plan: {
        root: {
          common: { planId: '1' },
          read: { dataSource: { format: 'parquet', options: { k: 'v' }, paths: ['/a', '/b'] } },
        },
      },
      requestOptions: [{ reattachOptions: { reattachable: true } }],
    });
    expect(sparkConnect.ExecutePlanRequest.decode(type.encode(type.decode(bytes)).finish())).toEqual(request);
  });

  test('enums have their numbers', async () => {
    const type = await reference('grpc/health/v1/health.proto', 'grpc.health.v1.HealthCheckResponse');
    const bytes = HealthCheckResponse.encode({ status: HealthCheckResponseServingStatus.NOT_SERVING }).finish();
    expect(type.toObject(type.decode(bytes), { enums: String })).toEqual({ status: 'NOT_SERVING' });
  });
});

test('a definition says which calls stream and which change nothing', () => {
  const { putFrame, getFrame } = FrameServiceDefinition.methods;
  expect([putFrame.requestStream, putFrame.responseStream, putFrame.options]).toEqual([true, false, {}]);
  expect([getFrame.requestStream, getFrame.responseStream]).toEqual([false, true]);
  expect(getFrame.options).toEqual({ idempotencyLevel: 'NO_SIDE_EFFECTS' });
});
