import { type ChildOptions, launchChild } from './pipe-launch.ts';
import { type ChildLink, createChildLink } from './pipe-link.ts';

/** Starts an engine child for `createFrameFiles`, ahead of all that is loaded to use it. It ends with this process. */
export function startChild(options: ChildOptions): ChildLink {
  return createChildLink(() => launchChild(options));
}
