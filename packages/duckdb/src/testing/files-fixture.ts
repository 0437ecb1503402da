import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeNdjson, type FrameStream } from '@svc/frames';
import { SAMPLE_FRAMES } from '@svc/frames/testing';
import { type ConversionOptions, createFrameFiles, type DuckdbFrameFiles } from '../files/create-frame-files.ts';
import type { FileSource, SourceInfo } from '../files/frame-files.ts';

// Values that do not fit microseconds, or 32-bit days.
const OUT_OF_RANGE = new Set(['timestamp s', 'timestamp ms', 'date64', 'every type side by side']);

/** The sample frames whose values a file can store. */
export const STORABLE_FRAMES = SAMPLE_FRAMES.filter(({ name }) => !OUT_OF_RANGE.has(name));

/** `FrameFiles` with a temporary folder. */
export interface FilesFixture {
  readonly files: DuckdbFrameFiles;
  readonly folder: string;
  /** Returns an unused path. */
  path(): string;
  /** Writes a frame and reads it back as text. */
  roundTrip(frame: FrameStream): Promise<string>;
  describe(source: FileSource): Promise<SourceInfo>;
  close(): Promise<void>;
}

/** Creates a fixture. */
export async function createFilesFixture(options: ConversionOptions = {}): Promise<FilesFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-files-'));
  const files = createFrameFiles({ tempDirectory: folder, ...options });
  let paths = 0;
  const fixture: FilesFixture = {
    files,
    folder,
    path: () => join(folder, `it's ${paths++} [a]*.parquet`),
    async roundTrip(frame) {
      const path = fixture.path();
      await files.write(path, frame, { compression: 'zstd' });
      const source = { kind: 'parquet', path } as const;
      return textOf(files.read(source, await fixture.describe(source)));
    },
    async describe(source) {
      const [info] = await files.describe([source]);
      if (info === undefined || info instanceof Error) throw info ?? new Error('Nothing was described.');
      return info;
    },
    async close() {
      await files.close();
      await rm(folder, { recursive: true });
    },
  };
  return fixture;
}

/** Returns the rows of a frame as NDJSON, which shows every value exactly. */
export async function textOf(frame: FrameStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const bytes of encodeNdjson(frame)) parts.push(bytes.slice());
  return Buffer.concat(parts).toString();
}
