import { nearestName } from '@svc/errors';
import { handleOfFile } from '../args/handle-of-file.ts';
import type { Client } from '../client/client.ts';
import { listFrames, PAGE } from '../client/list-frames.ts';
import { withTimeout } from '../client/with-timeout.ts';
import { CliError } from '../errors/cli-error.ts';

/** The longest wait for a suggestion. */
const TIMEOUT_MS = 1000;

/** Runs a request for a frame. If there is no such frame, the error suggests the handle that is closest. */
export async function withNearestHandle<T>(
  client: Client,
  handle: string,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'handle_not_found') throw error;
    const nearest = await findNearest(client, handle, withTimeout(signal, TIMEOUT_MS)).catch(() => undefined);
    if (nearest === undefined) throw error;
    const { message, details, code } = error;
    throw new CliError('refused', message, {
      details,
      code,
      hint: `Did you mean ${JSON.stringify(nearest)}? svc list prints all handles.`,
    });
  }
}

/** Compares with the first page of all frames and, if there are more, with those that have the same first letter. */
async function findNearest(client: Client, handle: string, signal: AbortSignal): Promise<string | undefined> {
  const known = new Set<string>();
  for (const prefix of [undefined, handle.slice(0, 1)]) {
    const pages = listFrames(client, prefix, signal);
    const first = await pages.next();
    for (const frame of first.done === true ? [] : first.value) known.add(frame.handle);
    const named = nameInFile(handle);
    if (named !== undefined && known.has(named)) return named;
    const nearest = nearestName(handle, new Map([...known].map((name) => [name, name])));
    if (nearest !== undefined || first.done === true || known.size < PAGE) return nearest;
  }
  return undefined;
}

/** The handle that `svc put` makes of a file with this name. */
function nameInFile(file: string): string | undefined {
  try {
    return handleOfFile(file);
  } catch {
    return undefined;
  }
}
