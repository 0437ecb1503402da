/**
 * Named bytes in a home: a directory, a bucket, or memory. An object is written once and never changed; a removed name may be
 * created again, with another tag. So processes that share a home need no lock: of several that create a name, one succeeds.
 *
 * A key is a path of segments with slashes between, of letters, digits and `._@=-`. No key is the folder of another.
 */
export interface Objects {
  /** Opens an object. Undefined: there is none. Read the body to its end, or close it. */
  get(key: string, options?: GetOptions): Promise<ObjectBody | undefined>;
  /** Describes an object without reading it. Undefined: there is none. */
  stat(key: string, signal?: AbortSignal): Promise<ObjectStat | undefined>;
  /**
   * Creates an object, durably. False: the name exists; read it to find out if that was an earlier attempt of yours. Rejects
   * with `OutcomeUnknown` if the object may exist now or later; with anything else if this attempt wrote nothing.
   */
  create(key: string, body: Uint8Array | FileBody, signal?: AbortSignal): Promise<boolean>;
  /** The keys that start with a prefix, which is empty or ends with a slash, in ascending order. */
  list(prefix: string, options?: ListOptions): AsyncIterable<string>;
  /** Removes objects one after the other, in this order. One that does not exist is skipped. */
  remove(keys: readonly string[], signal?: AbortSignal): Promise<void>;
}

/** Options of `Objects.get`. */
export interface GetOptions {
  /** The bytes from `start` to `end`, which is not included. Default: all. */
  readonly range?: { readonly start: number; readonly end: number };
  readonly signal?: AbortSignal;
}

/** Options of `Objects.list`. */
export interface ListOptions {
  /** Only keys after this one. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

/** The bytes of an object. */
export interface ObjectBody {
  readonly tag: string;
  /** The length of the body: that of the range if there is one. */
  readonly bytes: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A file as the body of an object. It is flushed, is never changed, and stays the caller's to remove. */
export interface FileBody {
  readonly path: string;
}

/** True if the body of an object is a file. */
export function isFile(body: Uint8Array | FileBody): body is FileBody {
  return 'path' in body;
}

/** What is known of an object. */
export interface ObjectStat {
  /**
   * An object that took the name of a removed one has another tag, if the clock of the home went on between the two: that
   * of a bucket counts seconds.
   */
  readonly tag: string;
  readonly bytes: number;
  /** When it was created, by the clock of the home. */
  readonly modified: Date;
}

/** No answer came, or one that does not tell: the object may exist, now or in a while. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';

  constructor(key: string, cause: unknown) {
    super(`It is not known if ${key} was created.`, { cause });
  }
}

/** Names of unfinished files end like this. */
export const UNFINISHED = '.unfinished';

const SEGMENT = /^[A-Za-z0-9._@=-]{1,200}$/;
const MAX_KEY_LENGTH = 1000;

/**
 * Throws if a key is not a path of safe segments: letters, digits and `._@=-`, none of them `.` or `..`. So no
 * key leaves its home, and none needs an escape in a path or a URL.
 */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new TypeError(`Bad key: ${key}`);
}

function isSegment(name: string): boolean {
  return SEGMENT.test(name) && name !== '.' && name !== '..' && !name.endsWith(UNFINISHED);
}

/** True if a name can be that of an object. */
export function isKey(name: string): boolean {
  return name.length <= MAX_KEY_LENGTH && name.split('/').every(isSegment);
}

/** Throws if a prefix is neither empty nor a key with a slash. */
export function checkPrefix(prefix: string): void {
  if (prefix === '') return;
  if (!prefix.endsWith('/')) throw new TypeError(`Bad prefix: ${prefix}`);
  checkKey(prefix.slice(0, -1));
}

/** Reads a small object. Undefined: there is none. One of more than `maxBytes` is a `RangeError`. */
export async function readObject(
  objects: Pick<Objects, 'get'>,
  key: string,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<{ readonly tag: string; readonly bytes: Uint8Array } | undefined> {
  const body = await objects.get(key, signal && { signal });
  if (body === undefined) return undefined;
  if (body.bytes > maxBytes) {
    await body.close();
    throw new RangeError(`${key} has ${body.bytes} bytes, more than ${maxBytes}.`);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.chunks) chunks.push(chunk);
  return { tag: body.tag, bytes: Buffer.concat(chunks) };
}
