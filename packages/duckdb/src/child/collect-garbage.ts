import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8's `gc`. */
type Collect = (options?: { readonly type: 'minor' }) => void;

let collect: unknown;

/**
 * Runs the garbage collector. `minor` collects only young objects, much faster. The flag is set at run time: on the
 * command line it would keep Node from using its code cache.
 */
export function collectGarbage(type: 'major' | 'minor' = 'major'): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  if (!isCollect(collect)) return;
  // Node 20 runs a minor collection if there is any argument.
  if (type === 'minor') collect({ type });
  else collect();
}

function isCollect(value: unknown): value is Collect {
  return typeof value === 'function';
}
