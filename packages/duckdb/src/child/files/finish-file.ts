import { type FileHandle, open } from 'node:fs/promises';
import { encodeChecks, rangesOf } from '../../wire/file-checks.ts';
import { layoutOf } from './parquet-layout.ts';
import { readChecksums, readFully } from './read-checksums.ts';
import { NOTE_PLACEHOLDER, noteText } from '../../wire/file-requests.ts';
import { PARQUET_TAIL_BYTES, parseParquetTail } from '../../wire/parquet-tail.ts';

/**
 * Fills in the numbers in the metadata of a Parquet file that were unknown when it was started, adds checksums of all its
 * bytes, and flushes it to disk. Returns the size of the file.
 */
export async function finishFile(path: string, notes: Readonly<Record<string, number>>): Promise<number> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const { footer, at } = readFooter(file.fd, size);
    writeNotes(footer, notes);
    const layout = layoutOf(footer);
    const ranges = await readChecksums(file.fd, rangesOf(layout, at));
    const checks = encodeChecks({ ranges, groupRows: layout.groupRows }, footer);
    await writeFully(file, checks, at);
    await writeFully(file, footer, at + checks.length);
    await file.sync();
    return size + checks.length;
  } finally {
    await file.close();
  }
}

/** Repeats short writes: a disk that is nearly full accepts some of the bytes, and fails the next write. */
export async function writeFully(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** Reads the footer of a Parquet file, with the trailing length and magic. */
export async function footerOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    return readFooter(file.fd, size).footer;
  } finally {
    await file.close();
  }
}

/** Reads the footer with the trailing length and magic; `at` is its offset. */
export function readFooter(file: number, size: number): { readonly footer: Buffer; readonly at: number } {
  const tail = readFully(file, Buffer.alloc(PARQUET_TAIL_BYTES), size - PARQUET_TAIL_BYTES);
  const length = (parseParquetTail(tail) ?? Infinity) + PARQUET_TAIL_BYTES;
  if (length > size) throw new Error('The file is not a Parquet file.');
  return { footer: readFully(file, Buffer.alloc(length), size - length), at: size - length };
}

function writeNotes(footer: Buffer, notes: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(notes)) {
    // Key and value are strings with a length prefix, at the end of the footer.
    const length = String.fromCharCode(NOTE_PLACEHOLDER.length);
    const at = footer.lastIndexOf(`${key}\u0018${length}${NOTE_PLACEHOLDER}`, undefined, 'latin1');
    if (at < 0) throw new Error(`The file that was written has no ${key} in its metadata.`);
    footer.write(noteText(value), at + key.length + 2, 'latin1');
  }
}
