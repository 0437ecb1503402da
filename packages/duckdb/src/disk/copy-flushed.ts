import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { hasCode } from './durable-files.ts';

/** The size and the SHA-256 checksum, in hexadecimal, of a copied file. */
export interface CopiedFile {
  readonly bytes: number;
  readonly sha256: string;
}

const CHUNK_BYTES = 1024 * 1024;

/** Copies an open file, from its start, to a new file, and flushes that. Its name is durable when its directory is flushed. */
export async function copyFlushed(source: FileHandle, path: string, signal?: AbortSignal): Promise<CopiedFile> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const target = await open(path, 'wx');
  let bytes = 0;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await source.read(buffer, 0, buffer.length, bytes);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      // Unlike `write`, this repeats a write that the system cuts short.
      await target.writeFile(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
    await target.sync();
  } finally {
    await target.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Opens a regular file, or a link to one, to read it. Undefined if there is none: opening a FIFO would block. */
export async function openRegular(path: string): Promise<FileHandle | undefined> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ENXIO', 'EOPNOTSUPP')) return undefined;
    throw error;
  });
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}
