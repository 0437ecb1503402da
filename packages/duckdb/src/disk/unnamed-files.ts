import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import type { ByteRange } from '@svc/frames';
import { hasCode, unlinkIfThere } from '@svc/objects/internal';
import { planPrivateDirectory, sweepAbandoned } from './private-directory.ts';

/** The prefix of the names of the folders. */
const PREFIX = 'svc-export-';

const CHUNK_BYTES = 512 * 1024;

/** Files for exports and decoded frames. They are unlinked: the system removes them when they are closed, even if this process is killed. */
export interface UnnamedFiles {
  /** Opens a file after `write` has created it at the path. */
  create(extension: string, write: (path: string) => Promise<unknown>): Promise<FileHandle>;
}

/** Creates files in a private folder below `directory`. The folder is removed when the process ends. */
export function createUnnamedFiles(directory: string): UnnamedFiles {
  const folder = planPrivateDirectory(directory, PREFIX);
  return {
    async create(extension, write) {
      await folder.make();
      const path = join(folder.path, `${randomUUID()}.${extension}`);
      try {
        await write(path);
        return await open(path, 'r');
      } finally {
        // If it stays, it goes with the folder. A failure here would leave the file open forever.
        await unlinkIfThere(path).catch(() => {});
      }
    },
  };
}

/** Removes the folders of killed processes, in the background. An unlistable directory has none. */
export function sweepUnnamedFiles(directory: string): void {
  sweepAbandoned(directory, new RegExp(`^${PREFIX}`)).catch(() => undefined);
}

/** How a range is read. */
export interface ReadRangeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Reuse buffers: each chunk is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
}

/** Buffers for the next reads: new ones for each range cost more in garbage collection than the reads. */
const freeBuffers: Uint8Array[] = [];
const MAX_FREE_BUFFERS = 16;

/** Reads a range of a file. A shorter file is an error. */
export async function* readRange(
  file: FileHandle,
  { start, end }: ByteRange,
  { signal, reuseBuffers = false }: ReadRangeOptions = {},
): AsyncGenerator<Uint8Array, void> {
  const reused = reuseBuffers ? (freeBuffers.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)) : undefined;
  for (let at = start; at < end;) {
    signal?.throwIfAborted();
    const buffer = reused ?? Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at));
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at), at);
    if (bytesRead === 0) throw new Error('The file is shorter than it was.');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  // Only now is the consumer surely done with it: one that leaves early may still be sending a chunk.
  if (reused !== undefined && freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(reused);
}

/** Converts the error of a full disk to one for clients. Returns other errors unchanged. */
export function toExportError(error: unknown, format: string): unknown {
  if (!hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) return error;
  return new ServiceError('out_of_disk', `There is no space left on the disk to write the ${format} file.`, {
    hint: 'Request fewer rows or columns, or another format, or give the temporary directory more space.',
    cause: error,
  });
}
