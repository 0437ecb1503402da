import type { FrameServiceDefinition } from '@svc/proto';
import type { ServiceImplementation } from 'nice-grpc';
import { chunkMessages, closingWith, frameInfoMessage, partFrom, ttlFrom } from './frame-messages.ts';
import type { FrameServiceOptions } from './frame-service-options.ts';
import { engineFrom, keepEngineFrom, sqlFrom, sqlValueFrom } from './query-messages.ts';

type QueryMethods = Pick<ServiceImplementation<typeof FrameServiceDefinition>, 'keepQuery' | 'query'>;

/** Implements the SQL methods of the frame service. */
export function createQueryMethods({
  service,
  current,
}: Pick<FrameServiceOptions, 'current' | 'service'>): QueryMethods {
  return {
    async *query(request) {
      const call = current();
      const engine = engineFrom(request.engine);
      const params = request.params.map(sqlValueFrom);
      const result = await service.query(call, sqlFrom(request.sql), {
        ...(engine && { engine }),
        params,
        ...partFrom(request),
      });
      const onBytes = (bytes: number): void => result.sent(bytes);
      yield* closingWith(call, result, chunkMessages(call, result, onBytes));
    },

    async keepQuery({ sql, params, engine, handle, ifAbsent, ifVersion, ttlSeconds }) {
      const target = keepEngineFrom(engine);
      const { info, created } = await service.keepQuery(current(), sqlFrom(sql), {
        ...(target && { engine: target }),
        params: params.map(sqlValueFrom),
        ...(handle === '' ? {} : { handle }),
        ...(ifAbsent ? { ifAbsent } : {}),
        ...(ifVersion === '' ? {} : { ifVersion }),
        ...(ttlSeconds === undefined ? {} : { ttlSeconds: ttlFrom(ttlSeconds) }),
      });
      return { frame: frameInfoMessage(info), created };
    },
  };
}
