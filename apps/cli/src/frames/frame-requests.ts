import { nearestName } from '@svc/errors';
import type { ResultFormat } from '@svc/frames';
import { resolveUrl, TLS_OPTIONS } from '../args/client-options.ts';
import type { Arguments, Context } from '../args/command.ts';
import { ARROW_FILE_TYPE, outputContentType } from '../args/formats.ts';
import { handleOfFile } from '../args/input-options.ts';
import { openSource } from '../args/source.ts';
import { type Client, readResponse, type Request, withTimeout } from '../client/client.ts';
import { listFrames, PAGE } from '../client/requests.ts';
import { NEW_FRAME } from '../client/server-responses.ts';
import { CliError } from '../errors.ts';
import type { Output } from '../output/output.ts';
import { startProgress } from '../output/progress.ts';
import { formatCount, shellWord, sqlName } from '../text.ts';

/** Returns the request for the rows of a frame. An Arrow IPC file has all of them; `params` select rows and columns. */
export function rowsRequest(
  handle: string,
  { format, isArrowFile }: { readonly format: ResultFormat; readonly isArrowFile: boolean },
  params: Readonly<Record<string, string>> = {},
): Request {
  const common = { method: 'GET', isLong: true } as const;
  if (isArrowFile) {
    const path = `files/${encodeURIComponent(handle)}.arrow`;
    return { ...common, path, expects: { contentType: ARROW_FILE_TYPE } };
  }
  return {
    ...common,
    path: format === 'json' ? 'exec' : 'exp',
    params: { handle, fmt: format, ...params },
    expects: { contentType: outputContentType(format) },
  };
}

/** The most bytes of the metadata of a frame. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Sends a file, or standard input for `-`, to create or change a frame. */
export async function sendFile(
  client: Client,
  request: Pick<Request, 'method' | 'path' | 'params' | 'headers'>,
  file: string,
  { stdin, stderr, signal }: Context,
): Promise<{ readonly rows: number; readonly version: string; readonly isNew: boolean }> {
  const source = await openSource(file, stdin);
  const progress = startProgress({ output: stderr, totalBytes: source.bytes, signal });
  try {
    const response = await client.send({
      ...request,
      headers: {
        ...request.headers,
        ...(source.bytes !== undefined && { 'content-length': String(source.bytes) }),
      },
      body: progress.track(source.chunks),
      isAction: true,
      expects: { statuses: [200, 201] },
    });
    const { rows, version } = await readResponse(response, NEW_FRAME, MAX_RESPONSE_BYTES);
    return { rows, version, isNew: response.status === 201 };
  } finally {
    progress.end();
    await source.close();
  }
}

/** The longest wait for a suggestion. */
const TIMEOUT_MS = 1000;

/** Runs a request for a frame. If there is no such frame, the error suggests the closest handle. */
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

/** Compares with the first page of all frames and, if there are more, with those with the same first letter. */
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

/** The handle of a file with this name, as in `svc put`. */
function nameInFile(file: string): string | undefined {
  try {
    return handleOfFile(file);
  } catch {
    return undefined;
  }
}

/** A frame after a write. */
export interface WrittenFrame {
  readonly handle: string;
  readonly rows: number;
  readonly version: string;
  readonly what: 'new' | 'replaced' | 'appended' | 'renamed';
}

/** Returns the line about a written frame. */
export function frameLine({ handle, rows, version, what }: WrittenFrame): string {
  return `${handle}: ${formatCount(rows, 'row')}, version ${version} (${what})\n`;
}

/** Prints the written frame and, on a terminal, what to try next. */
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

/** The given flags, for the next command line. */
function given(args: Arguments, ...names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = args.text(name);
    return value === undefined ? [] : [`--${name}`, value];
  });
}

/** Where a frame is. `flags` select the place. */
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
