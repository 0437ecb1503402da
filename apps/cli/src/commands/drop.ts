import { CliError, EXIT } from '../errors/cli-error.ts';
import type { Command } from '../args/command.ts';
import { beginsWithDirectory } from '../args/directory-name.ts';
import { framePath } from '../client/frame-path.ts';
import { serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import { withNearestHandle } from '../frames/nearest-handle.ts';
import { withClient } from '../frames/with-client.ts';

/** `svc drop`: drops frames. */
export const drop: Command = {
  kind: 'command',
  name: 'drop',
  summary: 'Drop frames.',
  usage: ['<handle>...'],
  takesDirectory: beginsWithDirectory,
  options: { tenant: TENANT_OPTION, ...serverOptions() },
  notes: [
    'Reads in flight finish. A drop cannot be undone. If one of several frames cannot',
    'be dropped, the others still are, and the exit code is 1.',
  ],
  async run(args, context) {
    const handles = [...new Set(args.positionals)];
    // Checked before the first request: an invalid handle must not leave the work half done.
    const paths = handles.map((handle) => ({ handle, path: framePath(handle) }));
    const refusals: CliError[] = [];
    await withClient(args, context, { isWriting: true }, async (client) => {
      for (const { handle, path } of paths) {
        try {
          await withNearestHandle(client, handle, context.signal, () =>
            client.send({ method: 'DELETE', path, isAction: true, expects: { statuses: [204] } }),
          );
          await context.stdout.write(`dropped ${handle}\n`);
        } catch (error) {
          if (!(error instanceof CliError) || error.exitCode !== EXIT.refused) throw error;
          refusals.push(error);
        }
      }
    });
    const [first] = refusals;
    if (first === undefined) return;
    if (refusals.length === 1) throw first;
    throw new CliError('refused', `${refusals.length} of ${handles.length} frames were not dropped.`, {
      details: refusals.map(({ message }) => `  ${message}`),
      hint: first.hint,
    });
  },
};
