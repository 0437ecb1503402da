import { type FileHandle, open } from 'node:fs/promises';
import { encodeChecks, rangesOf } from '../../wire/file-checks.ts';
import { layoutOf } from './parquet-layout.ts';
import { readChecksums, readFully } from './read-checksums.ts';
import { NOTE_PLACEHOLDER, noteText } from '../../wire/file-requests.ts';

/** A Parquet file ends with the length of its footer and these. */
const MAGIC = 'PAR1';
const TAIL_BYTES = 8;

/**
 * Writes numbers into the metadata of a Parquet file that were not known when it was begun, adds checksums of all its
 * bytes, and flushes it to disk.
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

/** A disk that is nearly full takes some of the bytes, and refuses the next write. */
async function writeFully(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** The footer of a Parquet file at a path, with what follows it. */
export async function footerOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    return readFooter(file.fd, size).footer;
  } finally {
    await file.close();
  }
}

/** The footer with what follows it, and where it is. */
function readFooter(file: number, size: number): { readonly footer: Buffer; readonly at: number } {
  const tail = readFully(file, Buffer.alloc(TAIL_BYTES), size - TAIL_BYTES);
  const length = tail.readUInt32LE(0) + TAIL_BYTES;
  if (tail.toString('latin1', 4) !== MAGIC || length > size) throw new Error('The file is not a Parquet file.');
  return { footer: readFully(file, Buffer.alloc(length), size - length), at: size - length };
}

function writeNotes(footer: Buffer, notes: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(notes)) {
    // Key and value are texts with their lengths before them, and stand at the end of the footer.
    const length = String.fromCharCode(NOTE_PLACEHOLDER.length);
    const at = footer.lastIndexOf(`${key}\u0018${length}${NOTE_PLACEHOLDER}`, undefined, 'latin1');
    if (at < 0) throw new Error(`The file that was written has no ${key} in its metadata.`);
    footer.write(noteText(value), at + key.length + 2, 'latin1');
  }
}
