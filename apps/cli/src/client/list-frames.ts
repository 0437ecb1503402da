import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, readResponse } from './client.ts';
import { FRAME_LIST, type ListedFrame } from './server-responses.ts';

/** The frames of a full page. */
export const PAGE = 500;
/** How often a page is asked for again until it is complete. */
const AGAIN_MS = 50;
const MAX_PAGE_BYTES = 256 * 1024 * 1024;

/** Lists the frames, a page at a time. */
export async function* listFrames(
  client: Client,
  prefix: string | undefined,
  signal?: AbortSignal,
  /** Wait until the files of all frames are read. Default: their rows may be null. */
  isComplete = false,
): AsyncGenerator<readonly ListedFrame[], void> {
  let after: string | undefined;
  for (;;) {
    const params = {
      limit: String(PAGE),
      ...(prefix !== undefined && { prefix }),
      ...(after !== undefined && { after }),
    };
    const readPage = async (): Promise<readonly ListedFrame[]> => {
      const response = await client.send({ method: 'GET', path: 'frames', params, ...(signal && { signal }) });
      return (await readResponse(response, FRAME_LIST, MAX_PAGE_BYTES)).frames;
    };
    let frames = await readPage();
    const isDone = (): boolean => !isComplete || frames.every(({ rows }) => rows !== null);
    for (; !isDone(); frames = await readPage()) await sleep(AGAIN_MS);
    yield frames;
    const last = frames.at(-1)?.handle;
    // A server that ignores the page parameters would cause an endless loop.
    if (frames.length !== PAGE || last === after) return;
    after = last;
  }
}
