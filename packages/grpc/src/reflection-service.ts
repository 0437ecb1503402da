import { status as Status } from '@grpc/grpc-js';
import { quoted } from '@svc/errors/internal';
import { FILE_DESCRIPTORS, type FileDescriptor, type Partially, type reflectionV1 } from '@svc/proto';
import type { ServiceImplementation } from 'nice-grpc';

type Request = reflectionV1.ServerReflectionRequest;
type Response = Partially<reflectionV1.ServerReflectionResponse>;

/**
 * Implements `grpc.reflection.v1.ServerReflection`, and v1alpha, whose messages are the same. `names` are the full names
 * of the services of this server.
 */
export function createReflectionService(
  names: readonly string[],
): ServiceImplementation<typeof reflectionV1.ServerReflectionDefinition> {
  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, ...answer(request, names) };
      }
    },
  };
}

function answer(request: Request, names: readonly string[]): Response {
  const { fileByFilename, fileContainingSymbol, fileContainingExtension, allExtensionNumbersOfType } = request;
  if (request.listServices !== undefined) {
    return { listServicesResponse: { service: names.map((name) => ({ name })) } };
  }
  if (fileByFilename !== undefined) {
    return files(FILE_DESCRIPTORS.find((file) => file.name === fileByFilename)) ?? notFound('file', fileByFilename);
  }
  if (fileContainingSymbol !== undefined) {
    return files(fileOf(fileContainingSymbol)) ?? notFound('symbol', fileContainingSymbol);
  }
  if (allExtensionNumbersOfType !== undefined) {
    const isKnown = fileOf(allExtensionNumbersOfType) !== undefined;
    if (!isKnown) return notFound('type', allExtensionNumbersOfType);
    return { allExtensionNumbersResponse: { baseTypeName: allExtensionNumbersOfType, extensionNumber: [] } };
  }
  if (fileContainingExtension !== undefined) {
    return notFound('extension of type', fileContainingExtension.containingType);
  }
  return failure(Status.INVALID_ARGUMENT, 'The request is empty.');
}

function fileOf(symbol: string): FileDescriptor | undefined {
  const name = symbol.replace(/^\./, '');
  return FILE_DESCRIPTORS.find((file) => file.symbols.includes(name));
}

/** Returns a file and its direct and indirect imports. */
function files(file: FileDescriptor | undefined): Response | undefined {
  if (file === undefined) return undefined;
  const found = new Set([file]);
  for (const { imports } of found) {
    for (const imported of FILE_DESCRIPTORS.filter((other) => imports.includes(other.name))) found.add(imported);
  }
  return { fileDescriptorResponse: { fileDescriptorProto: [...found].map(({ bytes }) => bytes) } };
}

function notFound(kind: string, name: string): Response {
  return failure(Status.NOT_FOUND, `This server has no ${kind} ${quoted(name)}.`);
}

function failure(errorCode: Status, errorMessage: string): Response {
  return { errorResponse: { errorCode, errorMessage } };
}
