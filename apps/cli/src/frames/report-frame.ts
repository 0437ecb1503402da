import { resolveUrl } from '../args/client-options.ts';
import { TLS_OPTIONS } from '../args/tls-options.ts';
import type { Arguments, Context } from '../args/command.ts';
import { printNext } from '../output/print-next.ts';
import { formatCount } from '../text/display-text.ts';

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
