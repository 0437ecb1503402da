import { statfs } from 'node:fs/promises';

/** The types of file systems in memory, as Linux numbers them. */
const MEMORY_TYPES: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** Returns the free space of the disk of a directory in bytes. Zero if it is in memory, or cannot be determined. */
export async function freeDiskBytes(directory: string): Promise<number> {
  try {
    const { type, bavail, bsize } = await statfs(directory);
    return MEMORY_TYPES.has(type) ? 0 : bavail * bsize;
  } catch {
    return 0;
  }
}
