import type { Arguments } from '../args/command.ts';
import { CliError } from '../errors/cli-error.ts';
import { type Client, createClient } from '../client/client.ts';
import { responseOptions, clientOptions } from '../args/client-options.ts';
import type { Context } from '../args/command.ts';
import { visibleText } from '../text/display-text.ts';
import { findDirectory, type FrameDirectory } from './find-directory.ts';

/** What a command does with the frames. */
export interface ClientUse {
  /** Whether it changes them: a directory is then held while it runs. Default: no. */
  readonly isWriting?: boolean;
  /** Whether it asks SQL. Default: no. */
  readonly hasSql?: boolean;
  /** Default: that of most commands. */
  readonly timeoutSeconds?: number;
}

/** Nobody is asked for it. */
const LOCAL_URL = 'http://directory.invalid';

/** Lets a command talk to the server, or to the directory, that the command line names. */
export async function withClient(
  args: Arguments,
  context: Context,
  { isWriting = false, hasSql = false, timeoutSeconds }: ClientUse,
  run: (client: Client) => Promise<void>,
): Promise<void> {
  const { directory } = args;
  if (directory === undefined) return run(createClient(clientOptions(args, context, timeoutSeconds)));
  if (args.has('url')) {
    throw new CliError('usage', `${JSON.stringify(directory)} is a directory, and --url names a server.`, {
      hint: 'Give one of them.',
    });
  }
  const found = await findDirectory(directory, { homeDir: context.homeDir, createIfMissing: isWriting });
  await withLocalClient(args, context, { directory: found, name: directory, isReadOnly: !isWriting, hasSql }, run);
}

/** Lets a command keep frames that end with it. */
export function withPrivateClient(
  args: Arguments,
  context: Context,
  run: (client: Client) => Promise<void>,
): Promise<void> {
  return withLocalClient(args, context, { directory: undefined, name: '', isReadOnly: false, hasSql: false }, run);
}

interface LocalUse {
  readonly directory: FrameDirectory | undefined;
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly hasSql: boolean;
}

async function withLocalClient(
  args: Arguments,
  context: Context,
  { directory, ...use }: LocalUse,
  run: (client: Client) => Promise<void>,
): Promise<void> {
  const options = responseOptions(args, context);
  // Loaded only here: what only talks to a server starts in a third of the time without it.
  const { openLocalService } = await import('./local-service.ts');
  const local = await openLocalService(directory, use);
  try {
    await run(createClient({ ...options, url: LOCAL_URL, name: JSON.stringify(use.name), fetch: local.fetch }));
  } finally {
    await local.close();
    for (const problem of local.problems) await context.stderr.write(`warning: ${visibleText(problem)}\n`);
  }
}
