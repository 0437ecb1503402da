import { framePath } from './frame-path.ts';
import { readJson } from './http/read-json.ts';
import type { SingleRequest, Transport } from './http/request.ts';
import type { CallOptions, ListOptions } from './options.ts';
import type { FrameInfo, ListedFrame } from './types.ts';

type Http = Transport<SingleRequest>;

/** Reads the metadata of a frame. */
export async function describeFrame(http: Http, handle: string, call: CallOptions = {}): Promise<FrameInfo> {
  return readJson(await http.send({ path: framePath(handle), ...call }));
}

/** Sets the seconds until a frame expires; null: it never does. */
export async function setFrameTtl(
  http: Http,
  handle: string,
  ttl: number | null,
  call: CallOptions = {},
): Promise<FrameInfo> {
  return changeFrame(http, handle, { ttl }, call);
}

/** Gives a frame another handle. */
export async function renameFrame(
  http: Http,
  handle: string,
  newHandle: string,
  call: CallOptions = {},
): Promise<FrameInfo> {
  return changeFrame(http, handle, { handle: newHandle }, call);
}

async function changeFrame(http: Http, handle: string, change: object, call: CallOptions): Promise<FrameInfo> {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'PATCH', path: framePath(handle), headers, body: JSON.stringify(change) } as const;
  return readJson(await http.send({ ...request, ...call }));
}

/** Drops a frame. */
export async function dropFrame(http: Http, handle: string, call: CallOptions = {}): Promise<void> {
  const { body } = await http.send({ method: 'DELETE', path: framePath(handle), ...call });
  await body.return();
}

const PAGE = 500;

/** Lists the frames, sorted by handle. */
export async function* listFrames(http: Http, options: ListOptions = {}): AsyncGenerator<ListedFrame, void> {
  const { prefix, ...call } = options;
  let after: string | undefined;
  for (;;) {
    const response = await http.send({ path: 'frames', params: { prefix, after, limit: PAGE }, ...call });
    const { frames } = await readJson<{ readonly frames: readonly ListedFrame[] }>(response);
    yield* frames;
    const last = frames.at(-1)?.handle;
    // A server that ignores the parameters of pages would cause an endless loop.
    if (frames.length !== PAGE || last === after) return;
    after = last;
  }
}
