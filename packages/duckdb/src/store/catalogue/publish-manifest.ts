import { rename } from 'node:fs/promises';
import { type DirectorySync, unlinkIfThere, writeFlushed } from '@svc/objects/internal';

/** A flushed file that becomes a part. */
export interface AddedPart {
  readonly unfinishedPath: string;
  readonly path: string;
}

/** The paths of the files of a version that is a manifest. */
export interface ManifestPaths {
  readonly manifest: string;
  /** Where the manifest is written first. */
  readonly unfinished: string;
  readonly expiry: string;
}

/** Publishes a manifest after the parts that it adds. `early`: other files that must be durable before it. */
export async function publishManifest(
  paths: ManifestPaths,
  text: string,
  added: readonly AddedPart[],
  { early, sync }: { readonly early: readonly Promise<void>[]; readonly sync: DirectorySync },
): Promise<void> {
  try {
    const parts = added.map((part) => rename(part.unfinishedPath, part.path));
    await allDone([writeFlushed(paths.unfinished, text), ...early, ...parts]);
    // The names of the parts must be durable before the manifest that lists them.
    await sync();
    await rename(paths.unfinished, paths.manifest);
    await sync();
  } catch (error) {
    const isGone = await unlinkIfThere(paths.manifest).then(
      () => true,
      () => false,
    );
    // If the manifest cannot be removed, its parts must stay, too.
    const parts = isGone ? added.map((part) => part.path) : [];
    await Promise.allSettled([paths.unfinished, paths.expiry, ...parts].map(unlinkIfThere));
    throw error;
  }
}

/** Waits for all, then fails if one has failed. */
async function allDone(work: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}
