/**
 * The operations of the data-frame server for every protocol: reads, uploads and SQL, with limits and events.
 *
 * ```ts
 * import { createMemoryStore } from '@svc/frames';
 * import { createService } from '@svc/service';
 *
 * const service = createService({ store: createMemoryStore(), observe: (event) => console.log(event.kind) });
 * const call = { tenant: 'default', requestId: 'r-1', signal: AbortSignal.timeout(1000) };
 * const frames = await service.listFrames(call);
 * ```
 */
export { createService, type ServiceOptions } from './create-service.ts';
export { ENGINE_NAMES, type EngineName, SQL_TARGETS, type SqlTarget } from './engines.ts';
export { isServing } from './health.ts';
export {
  type EngineChild,
  type EventOf,
  type EventSource,
  type Observer,
  type Protocol,
  type RequestDetails,
  type ServiceEvent,
} from './events.ts';
export type { QueryOutcome } from './events.ts';
export { REQUIRED_PERMISSIONS, requiredPermissions } from './permissions.ts';
export type {
  AppendResult,
  AuthenticationContext,
  FileReading,
  FrameReading,
  Health,
  OperationName,
  Operations,
  PartState,
  TargetHealth,
  KeepQueryOptions,
  InsertedRows,
  KeptQuery,
  QueryInfo,
  QueryTiming,
  PutFrameOptions,
  QueryFramesOptions,
  ReadFrameOptions,
  Service,
  ShownInfo,
  SqlResult,
  StoreHealth,
  TlsHealth,
  LinesUpload,
  Upload,
} from './service.ts';
export { MAX_TTL_SECONDS } from './limits.ts';
