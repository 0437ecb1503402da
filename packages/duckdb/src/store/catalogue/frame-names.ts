import { type Handle, isHandle } from '@svc/frames';

/** What a file in a tenant's folder is, by its name. */
export type FileName =
  /** A version of a frame. */
  | { readonly kind: 'frame'; readonly handle: Handle; readonly version: string }
  /** When a version ends. */
  | { readonly kind: 'expiry'; readonly handle: Handle; readonly version: string }
  /** Says that this version and all before it are dropped. */
  | { readonly kind: 'tombstone'; readonly handle: Handle; readonly version: string }
  /** Was being written when its writer ended. */
  | { readonly kind: 'unfinished' }
  /** A frame that somebody else put there. */
  | { readonly kind: 'foreign'; readonly handle: Handle; readonly format: ForeignFormat }
  /** Not ours, and nothing we read. */
  | { readonly kind: 'unknown' };

/** The formats of files that are frames without having been put, in the order in which one hides another. */
export const FOREIGN_FORMATS = ['parquet', 'arrow', 'csv'] as const;

/** One of `FOREIGN_FORMATS`. */
export type ForeignFormat = (typeof FOREIGN_FORMATS)[number];

const EXTENSIONS = { frame: 'parquet', expiry: 'json', tombstone: 'dropped' } as const;
const UNFINISHED_PREFIX = '.tmp-';
// The greatest ULID is left out: none would come after it.
const OURS = /^([^@]+)@(?!7Z{25})([0-7][0-9A-HJKMNP-TV-Z]{25})\.(parquet|json|dropped)$/;

/** The name of a file of ours. */
export function frameFileName(kind: keyof typeof EXTENSIONS, handle: Handle, version: string): string {
  return `${handle}@${version}.${EXTENSIONS[kind]}`;
}

/** The name of a file that does not count until it has another. */
export function unfinishedFileName(id: string): string {
  return `${UNFINISHED_PREFIX}${id}`;
}

/** Tells a file by its name. */
export function parseFileName(name: string): FileName {
  if (name.startsWith(UNFINISHED_PREFIX)) return { kind: 'unfinished' };
  const [, handle, version, extension] = OURS.exec(name) ?? [];
  if (handle !== undefined && version !== undefined) {
    if (!isHandle(handle)) return { kind: 'unknown' };
    if (extension === 'parquet') return { kind: 'frame', handle, version };
    return { kind: extension === 'json' ? 'expiry' : 'tombstone', handle, version };
  }
  const dot = name.lastIndexOf('.');
  const stem = name.slice(0, dot);
  const format = FOREIGN_FORMATS.find((known) => known === name.slice(dot + 1));
  return dot > 0 && format !== undefined && isHandle(stem)
    ? { kind: 'foreign', handle: stem, format }
    : { kind: 'unknown' };
}

/**
 * The folder of a tenant. Capitals and whatever a file system may treat in its own way are written as `%` and two
 * digits, so that two tenants never share a folder, not even where letter case does not count.
 */
export function folderOfTenant(tenant: string): string {
  return [...Buffer.from(tenant, 'utf8')]
    .map((byte, at) => {
      const character = String.fromCharCode(byte);
      const isPlain = /[a-z0-9_-]/.test(character) || (character === '.' && at > 0);
      return isPlain ? character : `%${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
}

/** The tenant of a folder; undefined where no tenant has a folder of this name. */
export function tenantOfFolder(folder: string): string | undefined {
  try {
    const tenant = decodeURIComponent(folder);
    return folder !== '' && folderOfTenant(tenant) === folder ? tenant : undefined;
  } catch {
    return undefined;
  }
}
