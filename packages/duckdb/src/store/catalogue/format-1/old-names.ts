import { type Handle, isHandle } from '@svc/frames';

/** The kinds of files in a tenant's folder of format 1, and their extensions. */
const KINDS = [
  /** A version of a frame, in one file. */
  ['frame', 'parquet'],
  /** A version of a frame: the list of its parts. */
  ['manifest', 'parts'],
  /** Rows that belong to the versions that list the file. */
  ['part', 'part.parquet'],
  /** The expiry of a version. */
  ['expiry', 'json'],
  /** Marks this version and all before it as dropped. */
  ['tombstone', 'dropped'],
  /** Marks this version and all before it as dropped if another handle has the version that the file names. */
  ['move', 'moved'],
] as const;

/** A kind of file of format 1. */
export type OldKind = (typeof KINDS)[number][0];

/** A file of format 1. */
export interface OldName {
  readonly kind: OldKind;
  readonly handle: Handle;
  readonly version: string;
}

const EXTENSIONS: ReadonlyMap<OldKind, string> = new Map(KINDS);

// Excludes the greatest ULID, which has no successor.
const NAME = /^([^@]+)@(?!7Z{25})([0-7][0-9A-HJKMNP-TV-Z]{25})\.([a-z.]+)$/;

/** Returns the name of a file. */
export function oldFileName(kind: OldKind, handle: Handle, version: string): string {
  return `${handle}@${version}.${EXTENSIONS.get(kind)}`;
}

/** Parses the name of a file. Undefined: format 1 has no such file. */
export function parseOldName(name: string): OldName | undefined {
  const [, handle = '', version = '', extension = ''] = NAME.exec(name) ?? [];
  const [kind] = KINDS.find(([, known]) => known === extension) ?? [];
  return kind !== undefined && isHandle(handle) ? { kind, handle, version } : undefined;
}
