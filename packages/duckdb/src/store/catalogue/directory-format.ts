import { link } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hasCode,
  NO_LINKS,
  readSmallFile,
  syncDirectory,
  unlinkIfThere,
  writeFlushed,
  writeWhole,
} from '@svc/objects/internal';

/** The file in a directory of frames that has the number of its format. Without it, the format is 1. */
export const FORMAT_NAME = '.format';

/**
 * The format of a directory of frames that this program writes; it reads all formats up to this one. A program that writes
 * anything that its predecessor would misread increases the number, and the predecessor refuses the directory. Format 1 had
 * the versions of all frames in the folder of their tenant.
 */
const FORMAT = 2;

/** A later version of the program wrote the directory, or the number of its format cannot be read. */
export class DirectoryFormatError extends Error {
  override readonly name = 'DirectoryFormatError';
}

/** Fails with `DirectoryFormatError` unless this program can read a directory. Returns its format, if that is stored. */
export async function checkFormat(directory: string): Promise<number | undefined> {
  return (await readFormat(directory))?.format;
}

interface StoredFormat {
  readonly format: number;
  /** True until all frames of an earlier format are taken over. */
  readonly isTakingOver: boolean;
}

async function readFormat(directory: string): Promise<StoredFormat | undefined> {
  const path = join(directory, FORMAT_NAME);
  const text = await readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  });
  if (text === null) return undefined;
  const stored = parseFormat(text ?? '');
  if (stored === undefined) {
    throw new DirectoryFormatError(
      `The file ${JSON.stringify(path)} does not contain a format number. Restore it from a backup of the directory.`,
    );
  }
  if (stored.format <= FORMAT) return stored;
  throw new DirectoryFormatError(
    `A later version wrote the directory ${JSON.stringify(directory)}: it has format ${stored.format}, and this one reads ` +
      `formats up to ${FORMAT}. Run that version, or restore a backup that was made before the upgrade.`,
  );
}

/**
 * Fails with `DirectoryFormatError` if a directory has an earlier format, which is taken over when it is opened for writing.
 */
export async function checkTakenOver(directory: string): Promise<void> {
  const stored = await readFormat(directory);
  if (stored?.format === FORMAT && !stored.isTakingOver) return;
  throw new DirectoryFormatError(
    `An earlier version wrote the directory ${JSON.stringify(directory)}. Make a backup with that version. Then start a server ` +
      `of this version on the directory, or put a frame: that takes over its frames, without changing their rows.`,
  );
}

/**
 * Stores the number of the format in a directory, which only the process that holds it may do. Earlier versions refuse the
 * directory from now on. Call `endTakeOver` when the frames of an earlier format are taken over.
 */
export async function markFormat(directory: string): Promise<void> {
  if ((await checkFormat(directory)) === FORMAT) return;
  await checkLinks(directory);
  await writeFormat(directory, { format: FORMAT, taking_over: true });
}

/** Notes that a directory has no frames of an earlier format any more, or only such that cannot be read. */
export async function endTakeOver(directory: string): Promise<void> {
  if ((await readFormat(directory))?.isTakingOver === true) await writeFormat(directory, { format: FORMAT });
}

async function writeFormat(directory: string, content: object): Promise<void> {
  const unfinished = `.new${FORMAT_NAME}`;
  const path = join(directory, unfinished);
  // A process may have died while it wrote the file.
  for (const left of [path, `${path}.link`]) await unlinkIfThere(left);
  await writeWhole(directory, FORMAT_NAME, unfinished, `${JSON.stringify(content)}\n`);
  await syncDirectory(directory);
}

/** Fails if the file system of a directory cannot give a file a second name, which every change of a frame needs. */
async function checkLinks(directory: string): Promise<void> {
  const path = join(directory, `.new${FORMAT_NAME}`);
  const second = `${path}.link`;
  for (const left of [path, second]) await unlinkIfThere(left);
  try {
    await writeFlushed(path, '');
    await link(path, second);
  } catch (error) {
    if (!hasCode(error, ...NO_LINKS)) throw error;
    throw new DirectoryFormatError(
      `The file system of ${JSON.stringify(directory)} has no hard links. Keep the frames on ext4, XFS, Btrfs, ZFS, APFS or NTFS.`,
    );
  } finally {
    for (const left of [path, second]) await unlinkIfThere(left).catch(() => {});
  }
}

function parseFormat(text: string): StoredFormat | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
    if (typeof format !== 'number' || !Number.isSafeInteger(format) || format <= 0) return undefined;
    return { format, isTakingOver: typeof value === 'object' && value !== null && 'taking_over' in value };
  } catch {
    return undefined;
  }
}
