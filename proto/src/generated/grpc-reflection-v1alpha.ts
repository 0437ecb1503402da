// Written by the script "generate" from grpc/reflection/v1alpha/reflection.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { type Partially } from '../codec.ts';

/** A request. */
export interface ServerReflectionRequest {
  /** The host; copied to the response, otherwise unused. */
  readonly host: string;
  /** The file of this name. */
  readonly fileByFilename: string | undefined;
  /** The file that declares this fully qualified name. */
  readonly fileContainingSymbol: string | undefined;
  /** The file that declares an extension. */
  readonly fileContainingExtension: ExtensionRequest | undefined;
  /** The extensions of the message of this fully qualified name. */
  readonly allExtensionNumbersOfType: string | undefined;
  /** All services; the text is ignored. */
  readonly listServices: string | undefined;
}

/** Writes and reads `ServerReflectionRequest`. */
export const ServerReflectionRequest = {
  encode(message: ServerReflectionRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.host !== '') writer.uint32(10).string(message.host);
    if (message.fileByFilename !== undefined) writer.uint32(26).string(message.fileByFilename);
    if (message.fileContainingSymbol !== undefined) writer.uint32(34).string(message.fileContainingSymbol);
    if (message.fileContainingExtension !== undefined) ExtensionRequest.encode(message.fileContainingExtension, writer.uint32(42).fork()).ldelim();
    if (message.allExtensionNumbersOfType !== undefined) writer.uint32(50).string(message.allExtensionNumbersOfType);
    if (message.listServices !== undefined) writer.uint32(58).string(message.listServices);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ServerReflectionRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let host = '';
    let fileByFilename: string | undefined;
    let fileContainingSymbol: string | undefined;
    let fileContainingExtension: ExtensionRequest | undefined;
    let allExtensionNumbersOfType: string | undefined;
    let listServices: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          host = reader.string();
          break;
        case 26:
          fileByFilename = reader.string();
          fileContainingSymbol = undefined;
          fileContainingExtension = undefined;
          allExtensionNumbersOfType = undefined;
          listServices = undefined;
          break;
        case 34:
          fileContainingSymbol = reader.string();
          fileByFilename = undefined;
          fileContainingExtension = undefined;
          allExtensionNumbersOfType = undefined;
          listServices = undefined;
          break;
        case 42:
          fileContainingExtension = ExtensionRequest.decode(reader, reader.uint32());
          fileByFilename = undefined;
          fileContainingSymbol = undefined;
          allExtensionNumbersOfType = undefined;
          listServices = undefined;
          break;
        case 50:
          allExtensionNumbersOfType = reader.string();
          fileByFilename = undefined;
          fileContainingSymbol = undefined;
          fileContainingExtension = undefined;
          listServices = undefined;
          break;
        case 58:
          listServices = reader.string();
          fileByFilename = undefined;
          fileContainingSymbol = undefined;
          fileContainingExtension = undefined;
          allExtensionNumbersOfType = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ServerReflectionRequest ends inside a field.');
    return { host, fileByFilename, fileContainingSymbol, fileContainingExtension, allExtensionNumbersOfType, listServices };
  },

  fromPartial(partial: Partially<ServerReflectionRequest>): ServerReflectionRequest {
    return {
      host: partial.host ?? '',
      fileByFilename: partial.fileByFilename,
      fileContainingSymbol: partial.fileContainingSymbol,
      fileContainingExtension: partial.fileContainingExtension === undefined ? undefined : ExtensionRequest.fromPartial(partial.fileContainingExtension),
      allExtensionNumbersOfType: partial.allExtensionNumbersOfType,
      listServices: partial.listServices,
    };
  },
};

/** Names an extension. */
export interface ExtensionRequest {
  /** The message that is extended. */
  readonly containingType: string;
  /** The number of the extension's field. */
  readonly extensionNumber: number;
}

/** Writes and reads `ExtensionRequest`. */
export const ExtensionRequest = {
  encode(message: ExtensionRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.containingType !== '') writer.uint32(10).string(message.containingType);
    if (message.extensionNumber !== 0) writer.uint32(16).int32(message.extensionNumber);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExtensionRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let containingType = '';
    let extensionNumber = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          containingType = reader.string();
          break;
        case 16:
          extensionNumber = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExtensionRequest ends inside a field.');
    return { containingType, extensionNumber };
  },

  fromPartial(partial: Partially<ExtensionRequest>): ExtensionRequest {
    return {
      containingType: partial.containingType ?? '',
      extensionNumber: partial.extensionNumber ?? 0,
    };
  },
};

/** The response to a request. */
export interface ServerReflectionResponse {
  /** The host of the request. */
  readonly validHost: string;
  /** The request. */
  readonly originalRequest: ServerReflectionRequest | undefined;
  /** The requested file and its imports. */
  readonly fileDescriptorResponse: FileDescriptorResponse | undefined;
  /** The requested extensions. */
  readonly allExtensionNumbersResponse: ExtensionNumberResponse | undefined;
  /** The services. */
  readonly listServicesResponse: ListServiceResponse | undefined;
  /** The error. */
  readonly errorResponse: ErrorResponse | undefined;
}

/** Writes and reads `ServerReflectionResponse`. */
export const ServerReflectionResponse = {
  encode(message: ServerReflectionResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.validHost !== '') writer.uint32(10).string(message.validHost);
    if (message.originalRequest !== undefined) ServerReflectionRequest.encode(message.originalRequest, writer.uint32(18).fork()).ldelim();
    if (message.fileDescriptorResponse !== undefined) FileDescriptorResponse.encode(message.fileDescriptorResponse, writer.uint32(34).fork()).ldelim();
    if (message.allExtensionNumbersResponse !== undefined) ExtensionNumberResponse.encode(message.allExtensionNumbersResponse, writer.uint32(42).fork()).ldelim();
    if (message.listServicesResponse !== undefined) ListServiceResponse.encode(message.listServicesResponse, writer.uint32(50).fork()).ldelim();
    if (message.errorResponse !== undefined) ErrorResponse.encode(message.errorResponse, writer.uint32(58).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ServerReflectionResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let validHost = '';
    let originalRequest: ServerReflectionRequest | undefined;
    let fileDescriptorResponse: FileDescriptorResponse | undefined;
    let allExtensionNumbersResponse: ExtensionNumberResponse | undefined;
    let listServicesResponse: ListServiceResponse | undefined;
    let errorResponse: ErrorResponse | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          validHost = reader.string();
          break;
        case 18:
          originalRequest = ServerReflectionRequest.decode(reader, reader.uint32());
          break;
        case 34:
          fileDescriptorResponse = FileDescriptorResponse.decode(reader, reader.uint32());
          allExtensionNumbersResponse = undefined;
          listServicesResponse = undefined;
          errorResponse = undefined;
          break;
        case 42:
          allExtensionNumbersResponse = ExtensionNumberResponse.decode(reader, reader.uint32());
          fileDescriptorResponse = undefined;
          listServicesResponse = undefined;
          errorResponse = undefined;
          break;
        case 50:
          listServicesResponse = ListServiceResponse.decode(reader, reader.uint32());
          fileDescriptorResponse = undefined;
          allExtensionNumbersResponse = undefined;
          errorResponse = undefined;
          break;
        case 58:
          errorResponse = ErrorResponse.decode(reader, reader.uint32());
          fileDescriptorResponse = undefined;
          allExtensionNumbersResponse = undefined;
          listServicesResponse = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ServerReflectionResponse ends inside a field.');
    return { validHost, originalRequest, fileDescriptorResponse, allExtensionNumbersResponse, listServicesResponse, errorResponse };
  },

  fromPartial(partial: Partially<ServerReflectionResponse>): ServerReflectionResponse {
    return {
      validHost: partial.validHost ?? '',
      originalRequest: partial.originalRequest === undefined ? undefined : ServerReflectionRequest.fromPartial(partial.originalRequest),
      fileDescriptorResponse: partial.fileDescriptorResponse === undefined ? undefined : FileDescriptorResponse.fromPartial(partial.fileDescriptorResponse),
      allExtensionNumbersResponse: partial.allExtensionNumbersResponse === undefined ? undefined : ExtensionNumberResponse.fromPartial(partial.allExtensionNumbersResponse),
      listServicesResponse: partial.listServicesResponse === undefined ? undefined : ListServiceResponse.fromPartial(partial.listServicesResponse),
      errorResponse: partial.errorResponse === undefined ? undefined : ErrorResponse.fromPartial(partial.errorResponse),
    };
  },
};

/** Files. */
export interface FileDescriptorResponse {
  /** Each a serialized google.protobuf.FileDescriptorProto. */
  readonly fileDescriptorProto: readonly Uint8Array[];
}

/** Writes and reads `FileDescriptorResponse`. */
export const FileDescriptorResponse = {
  encode(message: FileDescriptorResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const item of message.fileDescriptorProto) writer.uint32(10).bytes(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FileDescriptorResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const fileDescriptorProto: Uint8Array[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          fileDescriptorProto.push(reader.bytes());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FileDescriptorResponse ends inside a field.');
    return { fileDescriptorProto };
  },

  fromPartial(partial: Partially<FileDescriptorResponse>): FileDescriptorResponse {
    return {
      fileDescriptorProto: partial.fileDescriptorProto ?? [],
    };
  },
};

/** Extensions of a message. */
export interface ExtensionNumberResponse {
  /** The message. */
  readonly baseTypeName: string;
  /** The numbers of its extensions' fields. */
  readonly extensionNumber: readonly number[];
}

/** Writes and reads `ExtensionNumberResponse`. */
export const ExtensionNumberResponse = {
  encode(message: ExtensionNumberResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.baseTypeName !== '') writer.uint32(10).string(message.baseTypeName);
    if (message.extensionNumber.length > 0) {
      writer.uint32(18).fork();
      for (const item of message.extensionNumber) writer.int32(item);
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExtensionNumberResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let baseTypeName = '';
    const extensionNumber: number[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          baseTypeName = reader.string();
          break;
        case 16:
          extensionNumber.push(reader.int32());
          break;
        case 18:
          for (const stop = reader.uint32() + reader.pos; reader.pos < stop; ) extensionNumber.push(reader.int32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExtensionNumberResponse ends inside a field.');
    return { baseTypeName, extensionNumber };
  },

  fromPartial(partial: Partially<ExtensionNumberResponse>): ExtensionNumberResponse {
    return {
      baseTypeName: partial.baseTypeName ?? '',
      extensionNumber: partial.extensionNumber ?? [],
    };
  },
};

/** Services. */
export interface ListServiceResponse {
  /** The services of this server. */
  readonly service: readonly ServiceResponse[];
}

/** Writes and reads `ListServiceResponse`. */
export const ListServiceResponse = {
  encode(message: ListServiceResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const item of message.service) ServiceResponse.encode(item, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ListServiceResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const service: ServiceResponse[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          service.push(ServiceResponse.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ListServiceResponse ends inside a field.');
    return { service };
  },

  fromPartial(partial: Partially<ListServiceResponse>): ListServiceResponse {
    return {
      service: partial.service?.map((item) => ServiceResponse.fromPartial(item)) ?? [],
    };
  },
};

/** A service. */
export interface ServiceResponse {
  /** Its full name. */
  readonly name: string;
}

/** Writes and reads `ServiceResponse`. */
export const ServiceResponse = {
  encode(message: ServiceResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.name !== '') writer.uint32(10).string(message.name);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ServiceResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let name = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          name = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ServiceResponse ends inside a field.');
    return { name };
  },

  fromPartial(partial: Partially<ServiceResponse>): ServiceResponse {
    return {
      name: partial.name ?? '',
    };
  },
};

/** The error of a request; the stream continues. */
export interface ErrorResponse {
  /** A gRPC status code. */
  readonly errorCode: number;
  /** The error message. */
  readonly errorMessage: string;
}

/** Writes and reads `ErrorResponse`. */
export const ErrorResponse = {
  encode(message: ErrorResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.errorCode !== 0) writer.uint32(8).int32(message.errorCode);
    if (message.errorMessage !== '') writer.uint32(18).string(message.errorMessage);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ErrorResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let errorCode = 0;
    let errorMessage = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          errorCode = reader.int32();
          break;
        case 18:
          errorMessage = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ErrorResponse ends inside a field.');
    return { errorCode, errorMessage };
  },

  fromPartial(partial: Partially<ErrorResponse>): ErrorResponse {
    return {
      errorCode: partial.errorCode ?? 0,
      errorMessage: partial.errorMessage ?? '',
    };
  },
};

/** Returns the descriptors of the services of this server. */
export const ServerReflectionDefinition = {
  name: 'ServerReflection',
  fullName: 'grpc.reflection.v1alpha.ServerReflection',
  methods: {
    /** Returns one response for every request, in order. */
    serverReflectionInfo: {
      name: 'ServerReflectionInfo',
      requestType: ServerReflectionRequest,
      requestStream: true,
      responseType: ServerReflectionResponse,
      responseStream: true,
      options: {},
    },
  },
} as const;
