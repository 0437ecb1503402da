import { invalidAnswer } from './cli-error.ts';
import { type Client, readJson } from './client.ts';
import { isObject } from './refusal.ts';

const PAGE = 500;
const MAX_PAGE_BYTES = 256 * 1024 * 1024;

/** The frames there are, a page at a time, as the server sends them. */
export async function* listFrames(client: Client, prefix: string | undefined): AsyncGenerator<readonly unknown[]> {
  let after: string | undefined;
  for (;;) {
    const params = {
      limit: String(PAGE),
      ...(prefix !== undefined && { prefix }),
      ...(after !== undefined && { after }),
    };
    const answer = await client.send({ method: 'GET', path: 'frames', params });
    const body = await readJson(answer, MAX_PAGE_BYTES);
    if (!isObject(body) || !Array.isArray(body['frames'])) throw invalidAnswer('it is not a list of frames');
    const frames: readonly unknown[] = body['frames'];
    yield frames;
    const lastFrame = frames.at(-1);
    const last = isObject(lastFrame) ? lastFrame['handle'] : undefined;
    // A server that does not page would be asked for ever.
    if (frames.length !== PAGE || typeof last !== 'string' || last === after) return;
    after = last;
  }
}
