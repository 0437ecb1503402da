import { stat } from 'node:fs/promises';
import { quoted } from '@svc/errors/internal';
import type { StoreFault } from '@svc/frames';
import type { StoreProblem } from './catalogue/store-problem.ts';
import { versionOfFile } from '../wire/file-version.ts';
import { pathsOf, type StoredFrame } from './catalogue/stored-frame.ts';

/** The frames whose files are known to be damaged or missing. */
export interface DamagedFrames {
  /** Records that the file of a frame is damaged or missing. Reports a problem the first time. */
  add(frame: StoredFrame, cause: unknown): void;
  /** Forgets a frame that was dropped or replaced. `successor`: took its place, and may have the same files and more. */
  remove(frame: StoredFrame, successor?: StoredFrame): void;
  /** Returns the frames whose files have not changed since. A file that has changed counts again when it is read. */
  faults(): Promise<readonly StoreFault[]>;
}

/** The most frames that a health check looks at. */
const MAX_FAULTS = 100;

/** Creates an empty set. */
export function createDamagedFrames(onProblem: (problem: StoreProblem) => void): DamagedFrames {
  const frames = new Map<StoredFrame, Promise<string | undefined>>();

  async function isSame(frame: StoredFrame, version: Promise<string | undefined>): Promise<boolean> {
    return (await version) === (await versionOf(frame));
  }

  return {
    add(frame, cause) {
      if (frames.has(frame)) return;
      frames.set(frame, versionOf(frame));
      frame.isReported = true;
      const { tenant, handle } = frame;
      onProblem({ kind: 'damaged_frame', tenant, handle, cause });
    },
    remove(frame, successor) {
      if (!frames.delete(frame) || successor === undefined) return;
      const paths = new Set(pathsOf(successor));
      const own = pathsOf(frame);
      if (own.length > 0 && own.every((path) => paths.has(path))) frames.set(successor, versionOf(successor));
    },
    async faults() {
      const looked = await Promise.all(
        [...frames].slice(0, MAX_FAULTS).map(async ([frame, version]) => {
          if (await isSame(frame, version)) return [faultOf(frame, (await version) === undefined)];
          frames.delete(frame);
          return [];
        }),
      );
      return looked.flat();
    },
  };
}

function faultOf({ tenant, handle }: StoredFrame, isMissing: boolean): StoreFault {
  const state = isMissing ? 'missing' : 'damaged';
  return { kind: 'damaged_frame', message: `The file of the frame ${quoted(handle)} is ${state}.`, tenant, handle };
}

/** Identifies the contents of all files of a frame. Undefined if one is missing. */
async function versionOf(frame: StoredFrame): Promise<string | undefined> {
  const files = pathsOf(frame).map(async (path) => versionOfFile(await stat(path, { bigint: true })));
  return Promise.all(files).then(
    (versions) => versions.join(),
    () => undefined,
  );
}
