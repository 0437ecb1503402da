import { type Handle, isHandle } from '@svc/frames';

/** The kind of a file in a tenant's folder, by its name. */
export type FileName =
  /** The folder of a frame that is being removed, or a file that an earlier version of the program did not publish. */
  | { readonly kind: 'unfinished' }
  /** A frame that was copied into the folder. */
  | { readonly kind: 'foreign'; readonly handle: Handle; readonly format: ForeignFormat }
  /** Ignored. */
  | { readonly kind: 'unknown' };

/** The extensions of foreign files that are frames, in order of precedence. */
export const FOREIGN_FORMATS = ['parquet', 'arrow', 'csv', 'tsv', 'csv.gz', 'json', 'ndjson', 'jsonl'] as const;

/** One of `FOREIGN_FORMATS`. */
export type ForeignFormat = (typeof FOREIGN_FORMATS)[number];

const UNFINISHED_PREFIX = '.tmp-';

/** Returns the name of a file that is not published yet. */
export function unfinishedFileName(id: string): string {
  return `${UNFINISHED_PREFIX}${id}`;
}

/** Parses the name of a file in a tenant's folder. */
export function parseFileName(name: string): FileName {
  if (name.startsWith(UNFINISHED_PREFIX)) return { kind: 'unfinished' };
  const format = FOREIGN_FORMATS.find((known) => name.endsWith(`.${known}`));
  const stem = name.slice(0, -(format?.length ?? 0) - 1);
  return format !== undefined && isHandle(stem) ? { kind: 'foreign', handle: stem, format } : { kind: 'unknown' };
}

/**
 * Returns the folder name of a tenant. Percent-encodes capitals and characters that some file systems treat specially, so
 * that two tenants never share a folder, even on a case-insensitive file system.
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

/** Returns the tenant of a folder, or undefined if no tenant has a folder of this name. */
export function tenantOfFolder(folder: string): string | undefined {
  try {
    const tenant = decodeURIComponent(folder);
    return folder !== '' && folderOfTenant(tenant) === folder ? tenant : undefined;
  } catch {
    return undefined;
  }
}
