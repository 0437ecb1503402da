import { setTimeout as sleep } from 'node:timers/promises';
import { CliError, EXIT } from '../errors/cli-error.ts';
import { type Client, readResponse } from './client.ts';
import { framePath } from './frame-path.ts';
import { FRAME, FRAME_LIST, type ListedFrame } from './server-responses.ts';

/** The frames of a full page. */
export const PAGE = 500;
const MAX_PAGE_BYTES = 256 * 1024 * 1024;
/** A list leaves out a frame that cannot be read, as soon as the store has reported it. */
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
    // A server that ignores the page parameters would cause an endless loop.
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
