import { FILES } from './generated/file-descriptors.ts';

/** A .proto file of this package, as reflection describes it. */
export interface FileDescriptor {
  /** The path it is imported by. */
  readonly name: string;
  /** The names of the files it imports. */
  readonly imports: readonly string[];
  /** The fully qualified names it declares. */
  readonly symbols: readonly string[];
  /** A serialized `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
}

/** Every .proto file of this package; a file comes after those it imports. */
export const FILE_DESCRIPTORS: readonly FileDescriptor[] = FILES.map(({ base64, ...file }) => ({
  ...file,
  bytes: Buffer.from(base64, 'base64'),
}));
