import { dirname } from 'node:path';
import { isHandle, type FrameRef, type Handle } from '@svc/frames';
import type { SourceInfo } from '../files/frame-files.ts';
import { fileSchema, foreignSchema } from '../types/file-schema.ts';
import { sqlFoldersOfTenant } from './foreign/foreign-frames.ts';
import { describeFrames, namesOf } from './list-frames.ts';
import type { PinnedSource, SqlFrames } from './sql-frames.ts';
import type { StoreParts } from './store-parts.ts';
import { type FrameContents, pathsOf, type StoredFrame } from './catalogue/stored-frame.ts';

/** Finds the frame with exactly this handle and its contents, and pins it until it is released. */
export type AcquireFrame = (
  ref: FrameRef,
) => Promise<{ readonly frame: StoredFrame; readonly contents: FrameContents } | undefined>;

/** The frames of a store as files for SQL. */
export function createSqlFrames(parts: StoreParts, acquire: AcquireFrame): SqlFrames {
  const { catalogue, foreign, reader, describing, copies, directory, hasTenants, copyDirectory } = parts;

  /** SQL names are case-insensitive, and so are the handles of one tenant. */
  async function handleOf(tenant: string, name: string): Promise<Handle | undefined> {
    if (!isHandle(name)) return undefined;
    const put = catalogue.find({ tenant, handle: name });
    if (put) return put.handle;
    if (await foreign.find({ tenant, handle: name })) return name;
    const names = await foreign.names(tenant);
    return names.find(({ handle }) => handle.toLowerCase() === name.toLowerCase())?.handle;
  }

  return {
    async pin({ tenant, name }) {
      const handle = await handleOf(tenant, name);
      const found = handle && (await acquire({ tenant, handle }));
      if (found === undefined) return undefined;
      const { frame, contents } = found;
      const pinned = (paths: readonly string[], info: SourceInfo): PinnedSource => ({
        handle: frame.handle,
        version: frame.version,
        rows: info.rows,
        paths,
        info,
        fileSchema: () => (info.isForeign ? foreignSchema(info) : fileSchema(info.schema)),
        verify: (signal) => reader.verify(frame, { again: true, ...(signal && { signal }) }),
        release() {
          catalogue.release(frame);
          copies.released(frame);
        },
      });
      try {
        const { kind } = frame.source;
        const folders = sqlFoldersOfTenant(directory, tenant, hasTenants);
        const isReadable = !frame.isForeign || pathsOf(frame).every((path) => folders.includes(dirname(path)));
        if ((kind === 'parts' || kind === 'parquet') && !contents.needsCopy && isReadable) {
          // SQL may read any rows of the files.
          await reader.verify(frame);
          return pinned(pathsOf(frame), contents);
        }
        const { path, info } = await describing.first(() => copies.of(frame, contents));
        return pinned([path], info);
      } catch (error) {
        catalogue.release(frame);
        copies.released(frame);
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
    // The directory before the tenant's folder in it, which does not exist before the first put.
    directories: (tenant) => [
      ...sqlFoldersOfTenant(directory, tenant, hasTenants).toReversed(),
      ...(copyDirectory === undefined ? [] : [copyDirectory]),
    ],
  };
}
