import { type ChildOptions, launchChild } from './pipe-launch.ts';
import { type ChildLink, createChildLink, type LinkOptions } from './pipe-link.ts';

/** Starts an engine child for `createFrameFiles`, ahead of all that is loaded to use it. It ends with this process. */
export function startChild(options: ChildOptions & LinkOptions): ChildLink {
  return createChildLink(() => launchChild(options), options);
}
