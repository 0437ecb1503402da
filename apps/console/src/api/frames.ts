import type { Api } from './api.ts';
import { jsonOf } from './json-of.ts';
import type { FrameInfo } from './types.ts';

/** The list of frames, with the etag that tells whether it has changed. */
export interface FrameList {
  readonly frames: readonly FrameInfo[];
  readonly etag: string | undefined;
}

/** Reads the list of frames. Returns the same list if the server says that it has not changed. */
export async function readFrames(api: Api, known?: FrameList): Promise<FrameList> {
  const headers = known?.etag === undefined ? {} : { 'if-none-match': known.etag };
  const response = await api.request('/frames', { headers });
  if (known !== undefined && response.status === 304) return known;
  const { frames } = await jsonOf<Pick<FrameList, 'frames'>>(response);
  if (!Array.isArray(frames)) throw new TypeError('The answer has no list of frames.');
  return { frames, etag: response.headers.get('etag') ?? undefined };
}

const framePath = (handle: string): string => `/frames/${encodeURIComponent(handle)}`;

/** Returns the current version of a frame; undefined if there is no such frame. */
export async function frameVersion(api: Api, handle: string, signal: AbortSignal): Promise<string | undefined> {
  const response = await api.request(framePath(handle), { signal, accept: [404] });
  return response.ok ? (await jsonOf<FrameInfo>(response)).version : undefined;
}

/** Sets the seconds after which a frame expires; null: it is kept. */
export async function setTtl(api: Api, handle: string, ttl: number | null): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await api.request(framePath(handle), { method: 'PATCH', headers, body: JSON.stringify({ ttl }) });
}

/** Drops a frame. */
export async function dropFrame(api: Api, handle: string): Promise<void> {
  await api.request(framePath(handle), { method: 'DELETE' });
}

/** Keeps the answer of SQL as a frame, and returns its metadata. */
export async function keepQuery(
  api: Api,
  query: { readonly sql: string; readonly engine: string; readonly handle?: string; readonly ttl?: number },
): Promise<FrameInfo> {
  const headers = { 'content-type': 'application/json' };
  const response = await api.request('/frames', { method: 'POST', headers, body: JSON.stringify(query) });
  return jsonOf<FrameInfo>(response);
}
