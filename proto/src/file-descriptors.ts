import { FILES } from './generated/file-descriptors.ts';

/** A .proto file of this package, for reflection. */
export interface FileDescriptor {
  /** The import path. */
  readonly name: string;
  /** The names of the imported files. */
  readonly imports: readonly string[];
  /** The fully qualified names that the file declares. */
  readonly symbols: readonly string[];
  /** A serialized `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
}

/** The .proto files of the services of the server, each after its imports. */
export const FILE_DESCRIPTORS: readonly FileDescriptor[] = FILES.map(({ base64, ...file }) => ({
  ...file,
  bytes: Buffer.from(base64, 'base64'),
}));
