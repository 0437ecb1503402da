import { tmpdir } from 'node:os';
import { createDurableStore, createFrameFiles, type FrameVerdict } from '@svc/duckdb';
import { planPrivateDirectory } from '@svc/duckdb/internal';
import { DEFAULT_TENANT } from '@svc/frames';
import type { Diagnosis } from './local-checks.ts';
import { reasonOf } from '../errors.ts';
import { directoryError, type FrameDirectory } from '../frames/find-directory.ts';

/** Verifies the checksums of all frames in a directory, named as the user wrote it. Changes nothing in it. */
export async function verifyDirectory(
  { parquetPath }: FrameDirectory,
  name: string,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const ending = planPrivateDirectory(tmpdir(), 'svc-doctor-');
  await ending.make();
  const files = createFrameFiles({ tempDirectory: ending.path });
  try {
    const store = await createDurableStore({ directory: parquetPath, files, isReadOnly: true, cacheBytes: 0 }).catch(
      (error: unknown) => {
        throw directoryError(name, error);
      },
    );
    try {
      const verdicts: FrameVerdict[] = [];
      for await (const verdict of store.verify(signal)) verdicts.push(verdict);
      return diagnosesOf(verdicts, name);
    } finally {
      await store.close();
    }
  } finally {
    await files.close();
    await ending.remove();
  }
}

function diagnosesOf(verdicts: readonly FrameVerdict[], name: string): readonly Diagnosis[] {
  const of = (state: FrameVerdict['state']): readonly FrameVerdict[] => verdicts.filter((one) => one.state === state);
  const where = `in ${JSON.stringify(name)}`;
  if (verdicts.length === 0) return [{ status: 'ok', text: `There are no frames ${where}.` }];
  const diagnoses: Diagnosis[] = [...of('damaged').map(damagedFrame), ...of('unreadable').map(unreadableFrame)];
  const [intact, unchecked] = [of('intact').length, of('unchecked').length];
  if (unchecked > 0) {
    diagnoses.unshift({
      status: 'warning',
      text: `${countFrames(unchecked, 'has no checksum', 'have no checksum')}: an earlier version wrote ${unchecked === 1 ? 'it' : 'them'}.`,
      advice: 'A frame gets checksums when it is put or appended to.',
    });
  }
  if (intact > 0) {
    const text = `${countFrames(intact, 'matches its checksums', 'match their checksums')} ${where}.`;
    diagnoses.unshift({ status: 'ok', text });
  }
  return diagnoses;
}

function countFrames(count: number, one: string, several: string): string {
  return count === 1 ? `1 frame ${one}` : `${count} frames ${several}`;
}

function damagedFrame(verdict: FrameVerdict): Diagnosis {
  return {
    status: 'problem',
    text: `${nameOf(verdict)} is damaged: ${JSON.stringify(verdict.path)} does not match its checksum.`,
    advice: 'Restore the file from a backup, or put the frame again.',
  };
}

function unreadableFrame(verdict: FrameVerdict): Diagnosis {
  return {
    status: 'problem',
    text: `${nameOf(verdict)} could not be read: ${reasonOf(verdict.cause)}`,
    advice: 'Check the permissions of its file, and the disk.',
  };
}

function nameOf({ tenant, handle }: FrameVerdict): string {
  const of = tenant === DEFAULT_TENANT ? '' : ` of the tenant ${JSON.stringify(tenant)}`;
  return `The frame ${JSON.stringify(handle)}${of}`;
}
