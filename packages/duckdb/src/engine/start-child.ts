import { launchInDirectoryIfPossible } from './child-directory.ts';
import { type ChildOptions, launchChild } from './launch-child.ts';
import { type ChildLink, createChildLink, type LinkOptions } from './child-link.ts';

/** How the names of the directories of these children begin. */
export const SPILL_PREFIX = 'svc-spill-';

/** Starts an engine child for `createFrameFiles`, ahead of all that is loaded to use it. It ends with this process. */
export function startChild(options: ChildOptions & LinkOptions): ChildLink {
  const { tempDirectory } = options;
  return createChildLink(
    () => launchInDirectoryIfPossible(tempDirectory, SPILL_PREFIX, (directory) => launchChild(options, directory)),
    options,
  );
}
