import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, readResponse } from './client.ts';
import { FRAME, FRAME_LIST, HEALTH, type Health, INFO, type ListedFrame, STORE_HEALTH } from './server-responses.ts';
import { CliError, EXIT } from '../errors.ts';

/** The frames of a full page. */
export const PAGE = 500;
const MAX_PAGE_BYTES = 256 * 1024 * 1024;
/** A list leaves out an unreadable frame as soon as the store has reported it. */
const UNREADABLE = { lists: 40, everyMs: 50 };

/** Lists the frames, a page at a time. */
export async function* listFrames(
  client: Client,
  prefix: string | undefined,
  signal?: AbortSignal,
  /** Describe the frames whose rows the list does not know. Default: their rows are null. */
  isComplete = false,
): AsyncGenerator<readonly ListedFrame[], void> {
  const ended = signal && { signal };
  let after: string | undefined;
  for (;;) {
    const params = {
      limit: String(PAGE),
      ...(prefix !== undefined && { prefix }),
      ...(after !== undefined && { after }),
    };
    const readPage = async (): Promise<readonly ListedFrame[]> => {
      const response = await client.send({ method: 'GET', path: 'frames', params, ...ended });
      return (await readResponse(response, FRAME_LIST, MAX_PAGE_BYTES)).frames;
    };
    const frames = await readPage();
    yield isComplete ? await complete(frames, readPage) : frames;
    const last = frames.at(-1)?.handle;
    // If a server ignores the page parameters, the loop must end.
    if (frames.length !== PAGE || last === after) return;
    after = last;
  }

  /** Describes the frames one by one: those of a page can be too many to be in the memory of the store together. */
  async function complete(
    page: readonly ListedFrame[],
    readPage: () => Promise<readonly ListedFrame[]>,
  ): Promise<readonly ListedFrame[]> {
    const described = new Map<string, ListedFrame>();
    const refused = new Set<string>();
    for (const { handle } of page.filter(({ rows }) => rows === null)) {
      try {
        const response = await client.send({ method: 'GET', path: framePath(handle), ...ended });
        described.set(handle, await readResponse(response, FRAME, MAX_PAGE_BYTES));
      } catch (error) {
        if (!(error instanceof CliError) || error.exitCode !== EXIT.refused) throw error;
        refused.add(handle);
      }
    }
    let frames = page;
    for (let lists = 0; lists < UNREADABLE.lists && frames.some(({ handle }) => refused.has(handle)); lists += 1) {
      if (lists > 0) await sleep(UNREADABLE.everyMs);
      frames = await readPage();
    }
    return frames.map((frame) => (frame.rows === null ? (described.get(frame.handle) ?? frame) : frame));
  }
}

/** Returns the path of a frame. The server validates the handle; here it only must not vanish from the URL. */
export function framePath(handle: string): string {
  if (!/^\.{0,2}$/.test(handle)) return `frames/${encodeURIComponent(handle)}`;
  throw new CliError('usage', `${JSON.stringify(handle)} is not a valid handle.`, {
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}

const MAX_BYTES = 1024 * 1024;

/** Reads the health of a server. */
export async function readHealth(client: Client): Promise<Health> {
  return readResponse(await client.send({ method: 'GET', path: 'health' }), HEALTH, MAX_BYTES);
}

/** Counts the frames of all tenants in a local directory, without files of others. */
export async function countFrames(client: Client): Promise<number> {
  const health = await readResponse(await client.send({ method: 'GET', path: 'health' }), STORE_HEALTH, MAX_BYTES);
  return health.parts.store.frames;
}

/**
 * Returns the engine of SQL without `--engine`: the default of the server if it has that one, else `local`, the frames,
 * or its only engine.
 */
export async function defaultEngine(client: Client): Promise<string> {
  const info = await readResponse(await client.send({ method: 'GET', path: 'info' }), INFO, MAX_BYTES);
  const { engines, defaultEngine: engine } = info;
  if (engines.includes(engine) || engines.length === 0) return engine;
  return engines.find((name) => name === 'local') ?? engines[0] ?? engine;
}
