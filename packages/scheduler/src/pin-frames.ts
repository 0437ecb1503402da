import { quoted } from '@svc/errors/internal';
import type { PinnableFrames, PinnedFrame } from '@svc/frames';
import type { BoundFrame } from './driver.ts';
import { type CheckedStatement, checkTables } from './fence/check-statement.ts';
import { schedulerFailed } from './scheduler-failed.ts';

/** Frames that stay pinned until they are released. */
export interface FramePins {
  readonly frames: readonly BoundFrame[];
  release(): void;
}

/** For statements without frames. */
export const NO_FRAMES: FramePins = { frames: [], release: () => undefined };

/** Options of `pinFrames`. */
export interface PinFramesOptions {
  readonly tenant: string;
  /** Returns the name that the cluster has for a file; undefined if it does not see the file. */
  readonly locate: (path: string) => string | undefined;
}

/**
 * Pins the frames that a statement reads, each at one version, whatever letter case the statement uses. A table that is not
 * a frame is `invalid_sql`: the cluster may have one of that name.
 */
export async function pinFrames(
  source: PinnableFrames,
  statement: CheckedStatement,
  { tenant, locate }: PinFramesOptions,
): Promise<FramePins> {
  const spellings = new Map<string, Set<string>>();
  for (const { name } of statement.tables) {
    const key = name.toLowerCase();
    spellings.set(key, (spellings.get(key) ?? new Set()).add(name));
  }
  const pins = new Map<string, PinnedFrame>();
  const release = (): void => {
    for (const pin of pins.values()) pin.release();
    pins.clear();
  };
  try {
    for (const key of spellings.keys()) {
      const pin = await source.pin({ tenant, name: key });
      // It is the first one in the statement: the check below refuses it.
      if (pin === undefined) break;
      pins.set(key, pin);
    }
    checkTables(statement, (name) => pins.has(name.toLowerCase()));
    const frames = [...pins].flatMap(([key, pin]) =>
      [...(spellings.get(key) ?? [])].map((name) => boundFrame(name, pin, locate)),
    );
    return { frames, release };
  } catch (error) {
    release();
    throw error;
  }
}

function boundFrame(name: string, pin: PinnedFrame, locate: PinFramesOptions['locate']): BoundFrame {
  const { handle, version, rows } = pin;
  const uris = pin.paths.map((path) => locate(path) ?? unreachable(handle));
  return { name, handle, version, rows, uris, schema: pin.fileSchema() };
}

function unreachable(handle: string): never {
  throw schedulerFailed(`The cluster cannot read the frame ${quoted(handle)}.`, {
    hint: 'Upload it as a frame: only Parquet files in the directory of the frames can be read by others than this server.',
  });
}
