import { FrameServiceDefinition, HealthDefinition, reflectionV1, reflectionV1alpha } from '@svc/proto';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { createClient } from 'nice-grpc';
import { drain, grpc, one, SQL, type GrpcOptions, type Target, type Way } from './way.ts';

type FrameClient = ReturnType<typeof clientOf>;

const clientOf = ({ channel }: Target) => createClient(FrameServiceDefinition, channel);

const frames = (run: (client: FrameClient, options: GrpcOptions) => Promise<unknown>) =>
  grpc((target, options) => run(clientOf(target), options));

const rpc = (name: string): readonly [string] => [`/${FrameServiceDefinition.fullName}/${name}`];
const NOT_FOUND = { elsewhere: 'handle_not_found' };
const NO_TABLE = { elsewhere: 'invalid_sql' };

async function* upload(handle: string) {
  yield { target: { handle } };
  yield { chunk: tableToIPC(tableFromArrays({ id: new Int32Array([1]) }), 'stream') };
}

/** Reads the first message of a stream that does not end by itself. */
async function first(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages) return;
}

/** Every way to use `FrameService`, health and reflection. */
export const FRAME_SERVICE_WAYS: readonly Way[] = [
  {
    entries: rpc('GetFrame'),
    operation: 'readFrame',
    ...NOT_FOUND,
    send: frames((client, options) => drain(client.getFrame({ handle: 'shown' }, options))),
  },
  {
    entries: rpc('DescribeFrame'),
    operation: 'describeFrame',
    ...NOT_FOUND,
    send: frames((client, options) => client.describeFrame({ handle: 'shown' }, options)),
  },
  {
    entries: rpc('ListFrames'),
    operation: 'listFrames',
    send: frames((client, options) => client.listFrames({}, options)),
  },
  {
    entries: rpc('PutFrame'),
    operation: 'putFrame',
    send: frames((client, options) => client.putFrame(upload('put'), options)),
  },
  {
    entries: rpc('ExtendFrame'),
    operation: 'expireFrame',
    ...NOT_FOUND,
    send: frames((client, options) => client.extendFrame({ handle: 'shown' }, options)),
  },
  {
    entries: rpc('DropFrame'),
    operation: 'dropFrame',
    allowed: 'handle_not_found',
    send: frames((client, options) => client.dropFrame({ handle: 'none' }, options)),
  },
  {
    entries: rpc('Query'),
    operation: 'query',
    ...NO_TABLE,
    send: frames((client, options) => drain(client.query({ sql: SQL }, options))),
  },
  {
    entries: rpc('Query'),
    detail: 'scheduler',
    operation: 'query',
    target: 'scheduler',
    allowed: 'scheduler_not_configured',
    send: frames((client, options) => drain(client.query({ sql: SQL, engine: 'scheduler' }, options))),
  },
  {
    entries: rpc('KeepQuery'),
    operation: 'keepQuery',
    ...NO_TABLE,
    send: frames((client, options) => client.keepQuery({ sql: SQL, handle: 'kept' }, options)),
  },
  ...(['tsdb', 'scheduler'] as const).map((engine): Way => ({
    entries: rpc('KeepQuery'),
    detail: engine,
    operation: 'keepQuery',
    target: engine,
    allowed: `${engine}_not_configured`,
    send: frames((client, options) => client.keepQuery({ sql: SQL, engine, handle: 'kept' }, options)),
  })),
  {
    entries: [`/${HealthDefinition.fullName}/Check`],
    access: 'open',
    send: grpc(({ channel }, options) => createClient(HealthDefinition, channel).check({}, options)),
  },
  {
    entries: [`/${HealthDefinition.fullName}/Watch`],
    access: 'open',
    send: grpc(({ channel }, options) => first(createClient(HealthDefinition, channel).watch({}, options))),
  },
  {
    entries: [`/${reflectionV1.ServerReflectionDefinition.fullName}/ServerReflectionInfo`],
    send: grpc(({ channel }, options) => {
      const client = createClient(reflectionV1.ServerReflectionDefinition, channel);
      return drain(client.serverReflectionInfo(one({ listServices: '' }), options));
    }),
  },
  {
    entries: [`/${reflectionV1alpha.ServerReflectionDefinition.fullName}/ServerReflectionInfo`],
    send: grpc(({ channel }, options) => {
      const client = createClient(reflectionV1alpha.ServerReflectionDefinition, channel);
      return drain(client.serverReflectionInfo(one({ listServices: '' }), options));
    }),
  },
];
