import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { hasCode, readSmallFile } from '@svc/objects/internal';
import { FORMAT_NAME } from '../catalogue/directory-format.ts';
import { LOG_FOLDER } from '../catalogue/frame-folders.ts';
import { BackupError } from './backup-error.ts';

/** The file that makes a directory a backup. It is written last. */
export const INDEX_NAME = 'backup.json';

/** The folder of a backup with the frames, as in a `storage.data_dir`. */
export const FRAMES_FOLDER = 'cold';

/** The database of a backup, as in a `storage.data_dir`, and its write-ahead log. */
export const DATABASE_NAMES = ['analytics.duckdb', 'analytics.duckdb.wal'] as const;

/** A file of a backup. */
export interface BackupFile {
  /** Relative to the backup, with slashes. */
  readonly path: string;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** The contents of a backup. */
export interface BackupIndex {
  /** When the backup began. */
  readonly created: Date;
  readonly frames: number;
  readonly files: readonly BackupFile[];
}

/**
 * A later program that changes the layout of backups increases this number: earlier ones must not guess. Format 1 had the
 * frames of a directory of format 1.
 */
const FORMAT = 2;

/** The files of a few million frames. */
const MAX_INDEX_BYTES = 1024 ** 3;

/** Encodes an index. */
export function encodeIndex({ created, frames, files }: BackupIndex): string {
  const listed = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
  return `${JSON.stringify({ format: FORMAT, created, frames, sha256: checksumOf(listed), files: listed })}\n`;
}

/** Reads the index of a backup. `name` is the backup as the user wrote it. */
export async function readIndex(backup: string, name: string): Promise<BackupIndex> {
  const text = await readSmallFile(join(backup, INDEX_NAME), MAX_INDEX_BYTES).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
    throw new BackupError(`${JSON.stringify(name)} is not a complete backup: it has no ${INDEX_NAME}.`, {
      hint: 'Name the directory that svc backup wrote. One that was interrupted cannot be restored.',
    });
  });
  const index = parse(text ?? '');
  if (index !== undefined && index['format'] !== FORMAT && index['format'] !== 1) {
    throw new BackupError(`The backup ${JSON.stringify(name)} has a format that this program does not know.`, {
      hint: 'Restore it with the version of svc that wrote it, or a later one.',
    });
  }
  const files: unknown = index?.['files'];
  const created = new Date(String(index?.['created']));
  const frames = index?.['frames'];
  const isValid = Array.isArray(files) && files.every(isBackupFile) && index?.['sha256'] === checksumOf(files);
  if (!isValid || Number.isNaN(created.getTime()) || !isCount(frames)) throw damagedBackup(name, INDEX_NAME);
  return { created, frames, files };
}

/** Makes the error for a file that does not match the index, or an index that does not match its checksum. */
export function damagedBackup(name: string, path: string): BackupError {
  return new BackupError(
    `The backup ${JSON.stringify(name)} is damaged: ${JSON.stringify(path)} does not match its checksum.`,
    { hint: 'Nothing was restored. Use another backup.' },
  );
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Encoding a decoded list again gives the same text. */
function checksumOf(files: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(files)).digest('hex');
}

function isBackupFile(value: unknown): value is BackupFile {
  if (!isObject(value)) return false;
  const { path, bytes, sha256 } = value;
  return typeof path === 'string' && isInside(path) && isCount(bytes) && typeof sha256 === 'string';
}

/** Whether a path is that of a file below the frames, or of the database: a restore must not write anywhere else. */
function isInside(path: string): boolean {
  if (DATABASE_NAMES.some((name) => name === path)) return true;
  const [first, ...rest] = path.split('/');
  if (path === `${FRAMES_FOLDER}/${FORMAT_NAME}`) return true;
  // No frame has a dot first: such names are those of locks and unfinished files.
  const isName = (part: string): boolean => part !== '' && !part.startsWith('.') && !/[\\\0]/.test(part);
  // Foreign files lie in the folder of the frames or of a tenant, others in that of a frame or of its log.
  const isDeep = rest.length === 4 && rest[2] === LOG_FOLDER;
  return first === FRAMES_FOLDER && rest.length >= 1 && (rest.length <= 3 || isDeep) && rest.every(isName);
}
