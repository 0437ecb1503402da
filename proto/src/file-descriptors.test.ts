import descriptor from 'protobufjs/ext/descriptor.js';
import { expect, test } from 'vitest';
import {
  FILE_DESCRIPTORS,
  FrameServiceDefinition,
  HealthDefinition,
  reflectionV1,
  reflectionV1alpha,
} from './index.ts';

test.each(FILE_DESCRIPTORS.map((file) => [file.name, file] as const))('%s describes itself', (name, file) => {
  const decoded = descriptor.FileDescriptorProto.toObject(descriptor.FileDescriptorProto.decode(file.bytes));
  expect(decoded).toMatchObject({ name, syntax: 'proto3' });
  expect(decoded['dependency'] ?? []).toEqual(file.imports);
});

test('files of services that this server only calls are not described', () => {
  const names = FILE_DESCRIPTORS.map(({ name }) => name);
  expect(names).not.toContain('spark/connect/base.proto');
  expect(names).not.toContain('google/rpc/status.proto');
});

test('every import comes before the file that needs it', () => {
  const seen = new Set<string>();
  for (const file of FILE_DESCRIPTORS) {
    expect(file.imports.filter((name) => !seen.has(name))).toEqual([]);
    seen.add(file.name);
  }
});

const fileOf = (symbol: string) => FILE_DESCRIPTORS.find((file) => file.symbols.includes(symbol))?.name;

test('every service, message, field, enum value and method is a symbol of its file', () => {
  expect(fileOf(FrameServiceDefinition.fullName)).toBe('svc/frames/v1/frames.proto');
  expect(fileOf('svc.frames.v1.FrameService.GetFrame')).toBe('svc/frames/v1/frames.proto');
  expect(fileOf('svc.frames.v1.PutFrameRequest.part')).toBe('svc/frames/v1/frames.proto');
  expect(fileOf(HealthDefinition.fullName)).toBe('grpc/health/v1/health.proto');
  expect(fileOf('grpc.health.v1.HealthCheckResponse.SERVING')).toBe('grpc/health/v1/health.proto');
  expect(fileOf(reflectionV1.ServerReflectionDefinition.fullName)).toBe('grpc/reflection/v1/reflection.proto');
  expect(fileOf(reflectionV1alpha.ServerReflectionDefinition.fullName)).toBe(
    'grpc/reflection/v1alpha/reflection.proto',
  );
  expect(fileOf('google.protobuf.Timestamp')).toBe('google/protobuf/timestamp.proto');
});
