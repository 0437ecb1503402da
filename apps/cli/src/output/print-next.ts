import { shellWord } from '../text/shell-word.ts';
import { sqlName } from '../text/sql-name.ts';
import type { Output } from './output.ts';

/** Where a frame is. `flags` are those of the command line that select the place. */
export type FramePlace =
  | { readonly kind: 'directory'; readonly directory: string; readonly flags: readonly string[] }
  | { readonly kind: 'server'; readonly url: string; readonly flags: readonly string[] };

/** Prints what to try with a frame: the SQL and, on a server, a link. Only for people: nothing unless on a terminal. */
export async function printNext(handle: string, place: FramePlace, stderr: Output): Promise<void> {
  if (stderr.width === undefined) return;
  const sql = shellWord(`select * from ${sqlName(handle)} limit 10`);
  const words = [...(place.kind === 'directory' ? [place.directory] : ['--engine', 'local']), ...place.flags];
  const lines = [`try: ${['svc', 'query', ...words.map(shellWord), sql].join(' ')}`];
  if (place.kind === 'server') {
    lines.push(`     ${place.url}/exec?handle=${encodeURIComponent(handle)}&fmt=json&limit=10`);
  }
  await stderr.write(`${lines.join('\n')}\n`);
}
