import { type Client, readResponse } from './client.ts';
import { FRAME_LIST, type FrameInfo } from './server-responses.ts';

/** The frames of a full page. */
export const PAGE = 500;
const MAX_PAGE_BYTES = 256 * 1024 * 1024;

/** Lists the frames, a page at a time. */
export async function* listFrames(
  client: Client,
  prefix: string | undefined,
  signal?: AbortSignal,
): AsyncGenerator<readonly FrameInfo[], void> {
  let after: string | undefined;
  for (;;) {
    const params = {
      limit: String(PAGE),
      ...(prefix !== undefined && { prefix }),
      ...(after !== undefined && { after }),
    };
    const response = await client.send({ method: 'GET', path: 'frames', params, ...(signal && { signal }) });
    const { frames } = await readResponse(response, FRAME_LIST, MAX_PAGE_BYTES);
    yield frames;
    const last = frames.at(-1)?.handle;
    // A server that ignores the page parameters would cause an endless loop.
    if (frames.length !== PAGE || last === after) return;
    after = last;
  }
}
