import type { FrameInfo, Handle, ListOptions } from '@svc/frames';
import type { ForeignName } from './foreign/foreign-tables.ts';
import type { StoreParts } from './store-parts.ts';
import { type FrameContents, infoOf, type StoredFrame } from './catalogue/stored-frame.ts';

/** A frame that was put, or the name of a foreign one. */
type Listed = { readonly handle: Handle } & ({ readonly frame: StoredFrame } | { readonly name: ForeignName });

/** A frame with its contents. */
interface KnownFrame {
  readonly frame: StoredFrame;
  readonly contents: FrameContents;
}

/** Lists frames of a tenant for clients, sorted by handle. */
export async function listFrames(
  parts: StoreParts,
  tenant: string,
  options: ListOptions,
): Promise<readonly FrameInfo[]> {
  const known = await describeFrames(parts, tenant, options);
  return known.map(({ frame, contents }) => infoOf(frame, contents, parts.hot.has(frame)));
}

/** Describes frames of a tenant, sorted by handle. Reads only the files of those it returns. */
export async function describeFrames(
  parts: StoreParts,
  tenant: string,
  { prefix = '', after = '', limit = Infinity }: ListOptions,
): Promise<readonly KnownFrame[]> {
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
  // Frames that were put are already sorted.
  const all = others.length === 0 ? own : [...own, ...others].toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
  const known: KnownFrame[] = [];
  // An unreadable frame is left out, and the next one takes its place.
  for (let at = 0; at < all.length && known.length < limit;) {
    const page = all.slice(at, at + Math.min(limit - known.length, all.length));
    at += page.length;
    const described = await Promise.all(page.map((listed) => describeListed(parts, tenant, listed)));
    known.push(...described.flatMap((one) => one ?? []));
  }
  return known;
}

async function describeListed(
  { catalogue, foreign, reader, onProblem }: StoreParts,
  tenant: string,
  listed: Listed,
): Promise<KnownFrame | undefined> {
  const frame = 'frame' in listed ? listed.frame : await foreign.load(tenant, listed.name);
  if (frame === undefined) return undefined;
  if (frame.contents) return { frame, contents: frame.contents };
  catalogue.acquire(frame);
  try {
    return { frame, contents: await reader.describe(frame) };
  } catch (cause) {
    // A frame that was dropped since the listing began is not a problem.
    const isThere = frame.isForeign || catalogue.find(frame) === frame;
    const kind = frame.isTable === false ? 'not_a_table' : 'unreadable_frame';
    if (isThere && !frame.isReported) onProblem({ kind, tenant, handle: frame.handle, cause });
    frame.isReported = true;
    return undefined;
  } finally {
    catalogue.release(frame);
  }
}
