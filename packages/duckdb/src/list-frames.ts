import type { FrameInfo, Handle, ListOptions } from '@svc/frames';
import type { ForeignName } from './foreign-tables.ts';
import type { StoreParts } from './store-parts.ts';
import { infoOf, type StoredFrame } from './stored-frame.ts';

/** A frame that was put, or the name of one of another's. */
type Listed = { readonly handle: Handle } & ({ readonly frame: StoredFrame } | { readonly name: ForeignName });

/** Frames of a tenant, sorted by handle. Only those that are returned are looked at. */
export async function listFrames(
  parts: StoreParts,
  tenant: string,
  { prefix = '', after = '', limit = Infinity }: ListOptions,
): Promise<readonly FrameInfo[]> {
  const { catalogue, foreign, isReadOnly } = parts;
  if (isReadOnly) await catalogue.rescan();
  catalogue.removeExpired();
  const names = await foreign.names(tenant);
  const put = catalogue.of(tenant);
  const wanted = (handle: string): boolean => handle.startsWith(prefix) && handle > after;
  const own: Listed[] = put.filter(({ handle }) => wanted(handle)).map((frame) => ({ handle: frame.handle, frame }));
  const others: Listed[] = names
    .filter(({ handle }) => wanted(handle) && catalogue.find({ tenant, handle }) === undefined)
    .map((name) => ({ handle: name.handle, name }));
  // Those that were put are sorted already.
  const all = others.length === 0 ? own : [...own, ...others].toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
  const infos: FrameInfo[] = [];
  // One that cannot be read is left out, and the next takes its place.
  for (let at = 0; at < all.length && infos.length < limit;) {
    const page = all.slice(at, at + Math.min(limit - infos.length, all.length));
    at += page.length;
    const described = await Promise.all(page.map((listed) => describeListed(parts, tenant, listed)));
    infos.push(...described.flatMap((info) => info ?? []));
  }
  return infos;
}

async function describeListed(
  { catalogue, foreign, hot, reader, onProblem }: StoreParts,
  tenant: string,
  listed: Listed,
): Promise<FrameInfo | undefined> {
  const frame = 'frame' in listed ? listed.frame : await foreign.load(tenant, listed.name);
  if (frame === undefined) return undefined;
  if (frame.contents) return infoOf(frame, frame.contents, hot.has(frame));
  catalogue.acquire(frame);
  try {
    return infoOf(frame, await reader.describe(frame), hot.has(frame));
  } catch (cause) {
    // One that was dropped since the list began is not a problem.
    const isThere = frame.isForeign || catalogue.find(frame) === frame;
    if (isThere && !frame.isReported) onProblem({ kind: 'unreadable_frame', tenant, handle: frame.handle, cause });
    frame.isReported = true;
    return undefined;
  } finally {
    catalogue.release(frame);
  }
}
