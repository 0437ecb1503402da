/**
 * The messages and services of the data-frame server's gRPC API.
 *
 * ```ts
 * import { FrameServiceDefinition } from '@svc/proto';
 * import { createChannel, createClient } from 'nice-grpc';
 *
 * const frames = createClient(FrameServiceDefinition, createChannel('127.0.0.1:50052'));
 * await frames.listFrames({ prefix: 'trades' }); // { frames: [{ handle: 'trades', rows: 2n, … }] }
 * ```
 */
export { decodeBounded, type MessageBounds, type Partially } from './codec.ts';
export { FILE_DESCRIPTORS, type FileDescriptor } from './file-descriptors.ts';
export { FLIGHT_SQL_TYPE_PREFIX, packFlightSql } from './flight-sql-any.ts';
export * as flight from './generated/arrow-flight-protocol.ts';
export * as flightSql from './generated/arrow-flight-protocol-sql.ts';
export { Any } from './generated/google-protobuf-any.ts';
export { ErrorInfo, Status } from './generated/google-rpc.ts';
export { Timestamp } from './generated/google-protobuf-timestamp.ts';
export {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponseServingStatus,
  HealthDefinition,
} from './generated/grpc-health-v1.ts';
export * as reflectionV1 from './generated/grpc-reflection-v1.ts';
export * as reflectionV1alpha from './generated/grpc-reflection-v1alpha.ts';
export * as sparkConnect from './generated/spark-connect.ts';
export {
  ColumnInfo,
  DescribeFrameRequest,
  DescribeFrameResponse,
  DropFrameRequest,
  DropFrameResponse,
  ExtendFrameRequest,
  ExtendFrameResponse,
  FrameInfo,
  FrameServiceDefinition,
  GetFrameRequest,
  GetFrameResponse,
  KeepQueryRequest,
  KeepQueryResponse,
  ListFramesRequest,
  ListFramesResponse,
  PutFrameRequest,
  PutFrameResponse,
  PutFrameTarget,
  QueryRequest,
  QueryResponse,
  SqlValue,
  TypedText,
} from './generated/svc-frames-v1.ts';
