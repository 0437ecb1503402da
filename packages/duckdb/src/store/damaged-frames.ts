import { stat } from 'node:fs/promises';
import { quoted } from '@svc/errors';
import type { StoreFault } from '@svc/frames';
import type { StoreProblem } from './catalogue/store-problem.ts';
import { versionOfFile } from '../wire/file-version.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';

/** The frames whose files were found to be damaged or missing. */
export interface DamagedFrames {
  /** The file of a frame does not hold what was written. It is a problem the first time. */
  add(frame: StoredFrame, cause: unknown): void;
  /** The frame is gone, or is another. */
  remove(frame: StoredFrame): void;
  /** Those whose files are still the same; one that was changed since counts again when it is read. */
  faults(): Promise<readonly StoreFault[]>;
}

/** So many are looked at for each health check. */
const MAX_FAULTS = 100;

/** None yet. */
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
    remove: (frame) => void frames.delete(frame),
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

async function versionOf({ source }: StoredFrame): Promise<string | undefined> {
  return stat(source.path, { bigint: true }).then(versionOfFile, () => undefined);
}
