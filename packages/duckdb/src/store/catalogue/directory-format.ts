import { join } from 'node:path';
import { hasCode, readSmallFile, syncDirectory, unlinkIfThere, writeWhole } from '@svc/objects/internal';

/** The file in a directory of frames that has the number of its format. Without it, the format is 1. */
export const FORMAT_NAME = '.format';

/**
 * The format of a directory of frames that this program writes; it reads all formats up to this one. A program that writes
 * anything that its predecessor would misread increases the number, and the predecessor refuses the directory.
 */
const FORMAT = 1;

/** A later version of the program wrote the directory, or the number of its format cannot be read. */
export class DirectoryFormatError extends Error {
  override readonly name = 'DirectoryFormatError';
}

/** Fails with `DirectoryFormatError` unless this program can read a directory. Returns its format, if that is stored. */
export async function checkFormat(directory: string): Promise<number | undefined> {
  const path = join(directory, FORMAT_NAME);
  const text = await readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  });
  if (text === null) return undefined;
  const format = parseFormat(text ?? '');
  if (format === undefined) {
    throw new DirectoryFormatError(
      `The file ${JSON.stringify(path)} does not contain a format number. Restore it from a backup of the directory.`,
    );
  }
  if (format <= FORMAT) return format;
  throw new DirectoryFormatError(
    `A later version wrote the directory ${JSON.stringify(directory)}: it has format ${format}, and this one reads ` +
      `formats up to ${FORMAT}. Run that version, or restore a backup that was made before the upgrade.`,
  );
}

/** Stores the number of the format in a directory, which only the process that holds it may do. */
export async function markFormat(directory: string): Promise<void> {
  if ((await checkFormat(directory)) === FORMAT) return;
  const unfinished = `.new${FORMAT_NAME}`;
  // A process may have died while it wrote the file.
  await unlinkIfThere(join(directory, unfinished));
  await writeWhole(directory, FORMAT_NAME, unfinished, `${JSON.stringify({ format: FORMAT })}\n`);
  await syncDirectory(directory);
}

function parseFormat(text: string): number | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
    return typeof format === 'number' && Number.isSafeInteger(format) && format > 0 ? format : undefined;
  } catch {
    return undefined;
  }
}
