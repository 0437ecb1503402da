import { launchInDirectoryIfPossible } from './child-directory.ts';
import { type ChildOptions, launchChild } from './launch-child.ts';
import { type ChildLink, createChildLink, type LinkOptions } from './child-link.ts';

/** The name prefix of these children's directories. */
export const SPILL_PREFIX = 'svc-spill-';

/**
 * Starts an engine child for `createFrameFiles` early, before the modules that use it are loaded. It exits with this
 * process.
 */
export function startChild(options: ChildOptions & LinkOptions): ChildLink {
  const { tempDirectory } = options;
  return createChildLink(
    () => launchInDirectoryIfPossible(tempDirectory, SPILL_PREFIX, (directory) => launchChild(options, directory)),
    options,
  );
}
