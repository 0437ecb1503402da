import { readJson } from '@svc/client/internal';
import type { Api } from './api.ts';
import type { ListedFrame } from './types.ts';

/** The list of frames, with the etag that tells whether it has changed. */
export interface FrameList {
  readonly frames: readonly ListedFrame[];
  readonly etag: string | undefined;
}

/** Reads the list of frames. Returns the same list if the server says that it has not changed. */
export async function readFrames(api: Api, known?: FrameList): Promise<FrameList> {
  const response = await api.send({ path: 'frames', headers: { 'if-none-match': known?.etag }, accept: [304] });
  if (known !== undefined && response.status === 304) return known;
  const { frames } = await readJson<Pick<FrameList, 'frames'>>(response);
  if (!Array.isArray(frames)) throw new TypeError('The answer has no list of frames.');
  return { frames, etag: response.headers.get('etag') ?? undefined };
}
