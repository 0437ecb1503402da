import { resolveUrl } from '../args/client-options.ts';
import type { Arguments, Context } from '../args/command.ts';
import { TLS_OPTIONS } from '../args/tls-options.ts';
import type { Output } from '../output/output.ts';
import { formatCount } from '../text/display-text.ts';
import { shellWord } from '../text/shell-word.ts';
import { sqlName } from '../text/sql-name.ts';

/** A frame that was written. */
export interface WrittenFrame {
  readonly handle: string;
  readonly rows: number;
  readonly version: string;
  readonly what: 'new' | 'replaced' | 'appended' | 'renamed';
}

/** Returns the line about a frame that was written. */
export function frameLine({ handle, rows, version, what }: WrittenFrame): string {
  return `${handle}: ${formatCount(rows, 'row')}, version ${version} (${what})\n`;
}

/** Prints the frame that a command has written and, on a terminal, what to try next. */
export async function reportFrame(frame: WrittenFrame, args: Arguments, context: Context): Promise<void> {
  const { handle } = frame;
  await context.stdout.write(frameLine(frame));
  const { directory } = args;
  await printNext(
    handle,
    directory === undefined
      ? {
          kind: 'server',
          url: resolveUrl(args.text('url'), context.env),
          flags: given(args, 'url', 'token-file', ...Object.keys(TLS_OPTIONS)),
        }
      : { kind: 'directory', directory, flags: given(args, 'tenant') },
    context.stderr,
  );
}

/** The flags that were given, as they must be repeated on the next command line. */
function given(args: Arguments, ...names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = args.text(name);
    return value === undefined ? [] : [`--${name}`, value];
  });
}

/** Where a frame is. `flags` are those of the command line that select the place. */
type FramePlace =
  | { readonly kind: 'directory'; readonly directory: string; readonly flags: readonly string[] }
  | { readonly kind: 'server'; readonly url: string; readonly flags: readonly string[] };

/** Prints what to try with a frame: the SQL and, on a server, a link. Only for people: nothing unless on a terminal. */
async function printNext(handle: string, place: FramePlace, stderr: Output): Promise<void> {
  if (stderr.width === undefined) return;
  const sql = shellWord(`select * from ${sqlName(handle)} limit 10`);
  const words = [...(place.kind === 'directory' ? [place.directory] : ['--engine', 'local']), ...place.flags];
  const lines = [`try: ${['svc', 'query', ...words.map(shellWord), sql].join(' ')}`];
  if (place.kind === 'server') {
    lines.push(`     ${place.url}/exec?handle=${encodeURIComponent(handle)}&fmt=json&limit=10`);
  }
  await stderr.write(`${lines.join('\n')}\n`);
}
