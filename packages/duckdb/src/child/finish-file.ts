import { type FileHandle, open } from 'node:fs/promises';
import { NOTE_PLACEHOLDER, noteText } from './requests.ts';

/** A Parquet file ends with the length of its footer and these. */
const MAGIC = 'PAR1';
const TAIL_BYTES = 8;

/** Writes numbers into the metadata of a Parquet file that were not known when it was begun, and flushes it to disk. */
export async function finishFile(path: string, notes: Readonly<Record<string, number>>): Promise<number> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    await writeNotes(file, size, notes);
    await file.sync();
    return size;
  } finally {
    await file.close();
  }
}

async function writeNotes(file: FileHandle, size: number, notes: Readonly<Record<string, number>>): Promise<void> {
  const tail = await readAt(file, size - TAIL_BYTES, TAIL_BYTES);
  if (tail.toString('latin1', 4) !== MAGIC) throw new Error('The file that was written is not a Parquet file.');
  const footerBytes = tail.readUInt32LE(0);
  const footerAt = size - TAIL_BYTES - footerBytes;
  const footer = await readAt(file, footerAt, footerBytes);
  for (const [key, value] of Object.entries(notes)) {
    // Key and value are texts with their lengths before them, and stand at the end of the footer.
    const length = String.fromCharCode(NOTE_PLACEHOLDER.length);
    const at = footer.lastIndexOf(`${key}\u0018${length}${NOTE_PLACEHOLDER}`, undefined, 'latin1');
    if (at < 0) throw new Error(`The file that was written has no ${key} in its metadata.`);
    await file.write(noteText(value), footerAt + at + key.length + 2, 'latin1');
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer;
}
