import { rename } from 'node:fs/promises';
import { type Handle, isHandle } from '@svc/frames';
import { type DirectorySync, hasCode, readSmallFile, unlinkIfThere, writeFlushed } from '@svc/objects/internal';

/** The version of another handle that a version becomes. */
export interface MoveTarget {
  readonly handle: Handle;
  readonly version: string;
}

/** The paths of the files of a move. */
export interface MovePaths {
  /** Says where the version goes. It counts as a tombstone as soon as the target is published. */
  readonly move: string;
  /** Where the move is written first. */
  readonly unfinished: string;
  readonly tombstone: string;
}

/** The steps of a move that depend on the kind of the version. */
export interface MoveSteps {
  /** Publishes the target durably. A failure leaves nothing of it. */
  readonly publish: () => Promise<void>;
  readonly unpublish: () => Promise<void>;
  readonly sync: DirectorySync;
}

/**
 * Publishes a version under another handle and drops the one it came from. The process can die at any moment: publishing
 * the target does both. On failure there is neither a target nor a tombstone.
 */
export async function moveVersion(paths: MovePaths, target: MoveTarget, steps: MoveSteps): Promise<void> {
  const { publish, unpublish, sync } = steps;
  try {
    await writeFlushed(paths.unfinished, `${JSON.stringify(target)}\n`);
    await rename(paths.unfinished, paths.move);
    await sync();
    await publish();
  } catch (error) {
    await Promise.allSettled([paths.unfinished, paths.move].map(unlinkIfThere));
    throw error;
  }
  try {
    await finishMove(paths, sync);
  } catch (error) {
    await undoMove(paths, unpublish).catch(() => {});
    throw error;
  }
}

/** Turns the move into a tombstone, which also counts when the target is replaced or dropped. */
export async function finishMove(
  { move, tombstone }: Pick<MovePaths, 'move' | 'tombstone'>,
  sync: DirectorySync,
): Promise<void> {
  await rename(move, tombstone);
  await sync();
}

/** In this order, and not further than succeeds: the rows must have one of the names at any moment. */
async function undoMove({ move, tombstone }: MovePaths, unpublish: () => Promise<void>): Promise<void> {
  await rename(tombstone, move).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  await unpublish();
  await unlinkIfThere(move);
}

/** Reads where a version goes. Undefined if the file is gone or not valid. */
export async function readMove(path: string): Promise<MoveTarget | undefined> {
  const text = await readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  try {
    const target: unknown = JSON.parse(text ?? 'null');
    if (typeof target !== 'object' || target === null || !('handle' in target) || !('version' in target))
      return undefined;
    const { handle, version } = target;
    return typeof handle === 'string' && isHandle(handle) && typeof version === 'string'
      ? { handle, version }
      : undefined;
  } catch {
    return undefined;
  }
}
