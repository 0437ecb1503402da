import { clientOptions, parseTenant, responseOptions } from '../args/client-options.ts';
import type { Arguments, Context } from '../args/command.ts';
import { type Client, createClient } from '../client/client.ts';
import { CliError } from '../errors.ts';
import { findDirectory, type FrameDirectory } from './find-directory.ts';
import type { LocalServiceOptions } from './local-service.ts';
import { visibleText } from '../text.ts';

/** How a command uses the frames. */
export interface ClientUse {
  /** A directory is then locked while the command runs. Default: no. */
  readonly isWriting?: boolean;
  /** Creates a missing directory. Default: no. */
  readonly createIfMissing?: boolean;
  /** Runs SQL. Default: no. */
  readonly hasSql?: boolean;
  /** Default: the timeout of most commands. */
  readonly timeoutSeconds?: number;
}

/** Runs something with a client for writes. A directory is locked only while it runs. */
export type WithWriter = <T>(run: (client: Client) => Promise<T>) => Promise<T>;

/** Never resolved: requests go to the local service. */
const LOCAL_URL = 'http://directory.invalid';

/** Runs a command with a client of the server or directory of the command line. */
export async function withClient(
  args: Arguments,
  context: Context,
  { isWriting = false, createIfMissing = false, hasSql = false, timeoutSeconds }: ClientUse,
  run: (client: Client, withWriter: WithWriter) => Promise<void>,
): Promise<void> {
  const { directory } = args;
  const named = args.text('tenant');
  const tenant = named === undefined ? undefined : parseTenant(named);
  if (directory === undefined && tenant !== undefined) {
    throw new CliError('usage', '--tenant is only for a directory.', {
      hint: 'The token decides the tenant on a server: leave --tenant out.',
    });
  }
  if (directory === undefined) {
    const client = createClient(clientOptions(args, context, timeoutSeconds));
    return run(client, (write) => write(client));
  }
  if (args.has('url')) {
    throw new CliError('usage', `${JSON.stringify(directory)} is a directory, and --url names a server.`, {
      hint: 'Give one of them.',
    });
  }
  const found = await findDirectory(directory, context.homeDir, createIfMissing);
  const local = { directory: found, name: directory, hasSql, tenant };
  await withLocalClient(args, context, { ...local, isReadOnly: !isWriting }, (client) =>
    run(client, (write) =>
      isWriting ? write(client) : withLocalClient(args, context, { ...local, isReadOnly: false }, write),
    ),
  );
}

/** Runs a command with a client of a temporary store. */
export function withPrivateClient(
  args: Arguments,
  context: Context,
  run: (client: Client) => Promise<void>,
): Promise<void> {
  return withLocalClient(args, context, { directory: undefined, name: '', isReadOnly: false, hasSql: false }, run);
}

interface LocalUse extends LocalServiceOptions {
  readonly directory: FrameDirectory | undefined;
}

async function withLocalClient<T>(
  args: Arguments,
  context: Context,
  { directory, ...use }: LocalUse,
  run: (client: Client) => Promise<T>,
): Promise<T> {
  const options = responseOptions(args, context);
  // Imported lazily: with a server, a command starts in a third of the time without it.
  const { openLocalService } = await import('./local-service.ts');
  const local = await openLocalService(directory, use);
  try {
    return await run(createClient({ ...options, url: LOCAL_URL, name: JSON.stringify(use.name), fetch: local.fetch }));
  } finally {
    await local.close();
    for (const problem of local.problems) await context.stderr.write(`warning: ${visibleText(problem)}\n`);
  }
}
