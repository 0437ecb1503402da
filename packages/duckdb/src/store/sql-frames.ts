import { dirname } from 'node:path';
import { type Handle, isHandle, type PinnableFrames, type PinnedFrame, type PinOptions } from '@svc/frames';
import type { SourceInfo } from '../files/frame-files.ts';
import { describeFrames, namesOf } from './all-frames.ts';
import { pathsOf, sourceOf } from './catalogue/stored-frame.ts';
import { sqlFoldersOfTenant } from './foreign/foreign-frames.ts';
import { acquireFrame, releaseFrame } from './read-frame.ts';
import type { StoreParts } from './store-parts.ts';
import { fileSchema, foreignSchema } from '../types/stored-types.ts';

/** A pinned frame, as the engine of this package reads it. */
export interface PinnedSource extends PinnedFrame {
  readonly info: SourceInfo;
  /** Verifies the checksums of the files again after a failed read. Throws if one is damaged. */
  verify(signal?: AbortSignal): Promise<{ readonly isChecked: boolean }>;
}

/** A frame with its metadata. */
export interface DescribedFrame {
  readonly handle: Handle;
  readonly info: SourceInfo;
}

/** Frames as files for SQL. */
export interface SqlFrames extends PinnableFrames {
  pin(options: PinOptions): Promise<PinnedSource | undefined>;
  /** The readable frames of a tenant, sorted by handle. */
  describeAll(tenant: string): Promise<readonly DescribedFrame[]>;
  /** Paths in SQL are relative to this directory. */
  readonly home: string;
  /** All directories with files of a tenant's pinned frames. */
  directories(tenant: string): readonly string[];
}

/** The frames of a store as files for SQL. */
export function createSqlFrames(parts: StoreParts): SqlFrames {
  const { catalogue, foreign, reader, describing, copies, directory, hasTenants } = parts;

  /** SQL names are case-insensitive, and so are the handles of one tenant. */
  async function handleOf(tenant: string, name: string): Promise<Handle | undefined> {
    if (!isHandle(name)) return undefined;
    const put = await catalogue.find({ tenant, handle: name });
    if (put) return put.handle;
    if (await foreign.find({ tenant, handle: name })) return name;
    const names = await foreign.names(tenant);
    return names.find(({ handle }) => handle.toLowerCase() === name.toLowerCase())?.handle;
  }

  return {
    home: directory,
    async pin({ tenant, name }) {
      const handle = await handleOf(tenant, name);
      const found = handle && (await acquireFrame(parts, { tenant, handle }));
      if (found === undefined) return undefined;
      const { frame, contents } = found;
      const pinned = (paths: readonly string[], info: SourceInfo): PinnedSource => ({
        handle: frame.handle,
        version: frame.version,
        rows: info.rows,
        paths,
        ...(frame.pinned && { storedPaths: pathsOf(frame) }),
        info,
        fileSchema: () => (info.isForeign ? foreignSchema(info) : fileSchema(info.schema)),
        verify: (signal) => reader.verify(frame, { again: true, ...(signal && { signal }) }),
        release: () => releaseFrame(parts, frame),
      });
      try {
        const { kind } = frame.source;
        const folders = sqlFoldersOfTenant(directory, tenant, hasTenants);
        const isReadable = !frame.isForeign || pathsOf(frame).every((path) => folders.includes(dirname(path)));
        if ((kind === 'parts' || kind === 'parquet') && !contents.needsCopy && isReadable) {
          // SQL may read any rows of the files.
          await reader.verify(frame);
          return pinned(pathsOf({ source: sourceOf(frame) }), contents);
        }
        const { path, info } = await describing.first(() => copies.of(frame, contents));
        return pinned([path], info);
      } catch (error) {
        releaseFrame(parts, frame);
        throw error;
      }
    },
    async handles(tenant) {
      return (await namesOf(parts, tenant)).map(({ handle }) => handle);
    },
    async describeAll(tenant) {
      const known = await describeFrames(parts, tenant);
      return known.map(({ frame, contents }) => ({ handle: frame.handle, info: contents }));
    },
    directories: (tenant) => [catalogue.folderOf(tenant).path, ...sqlFoldersOfTenant(directory, tenant, hasTenants)],
  };
}
