import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: unknown;

/**
 * Frees what no object holds any more; `minor`: of what was made lately alone, which takes much less time. As a flag of the
 * command line it would keep Node from its own compiled code.
 */
export function collectGarbage(type: 'major' | 'minor' = 'major'): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  if (typeof collect !== 'function') return;
  // Node 20 takes any argument for the wish for a minor one.
  if (type === 'minor') collect({ type });
  else collect();
}
