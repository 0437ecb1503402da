import { sweepAbandoned } from '../disk/private-directory.ts';

/** Removes the directories that children of this user's killed processes left behind. */
export async function sweepChildDirectories(parent: string, prefix: string): Promise<void> {
  // If the parent directory cannot be listed, there is nothing to sweep.
  await sweepAbandoned(parent, new RegExp(`^${prefix}\\d+-`)).catch(() => undefined);
}
