import { open } from 'node:fs/promises';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file.',
  ENOTDIR: 'There is no such file.',
  EACCES: 'Permission to read it is denied.',
  EPERM: 'Permission to read it is denied.',
  EISDIR: 'It is a directory.',
};

/** A file that cannot be read as text. The message is one sentence. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** Reads a whole file of UTF-8 text. */
export async function readTextFile(path: string, maxBytes: number): Promise<string> {
  const bytes = await readBytes(path, maxBytes).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new FileError(REASONS[code] ?? `It cannot be read (${code}).`, { cause: error });
  });
  if (bytes.length > maxBytes) throw new FileError(`It is larger than ${maxBytes} bytes.`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new FileError('It is not text in UTF-8.');
  }
}

/** Reads at most one byte more than `maxBytes`. */
async function readBytes(path: string, maxBytes: number): Promise<Uint8Array> {
  const file = await open(path);
  const chunks: Uint8Array[] = [];
  // The stream closes the file, also if it fails.
  for await (const chunk of file.createReadStream({ end: maxBytes })) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
