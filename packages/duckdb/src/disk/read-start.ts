import { open } from 'node:fs/promises';

/** Reads the first bytes of a file, at most `maxBytes`. */
export async function readStart(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, maxBytes)));
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
