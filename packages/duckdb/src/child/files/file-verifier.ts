import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { type CheckedRange, type FileChecks, versionOfFile } from '../../wire/file-layout.ts';
import type { FileCheck, RowsCheck, RowsPart } from '../../wire/requests.ts';
import { CancelledError } from '../active-request.ts';
import { DamagedFileError, loadChecks, readChecksums, ShortFileError } from './checksums.ts';

/**
 * Verifies files against their checksums. Verified bytes are not verified again while the file is the same by its times,
 * size and inode. A mismatch is a `DamagedFileError` every time; a file without checksums passes.
 */
export interface FileVerifier {
  /** Verifies parts of files. `again` first discards the results of earlier verifications. */
  verify(checks: readonly FileCheck[], signal: AbortSignal, again?: boolean): Promise<Verified>;
  /**
   * Starts to verify rows of consecutive files: the first rows immediately, the others a little before they
   * are needed.
   */
  rows(checks: readonly RowsCheck[], signal: AbortSignal): Promise<VerifiedRows>;
}

/** Verified files. */
export interface Verified {
  /** True if all files have checksums. */
  readonly isChecked: boolean;
}

/** The cached state of a file. */
interface KnownFile {
  readonly version: string;
  readonly checks: FileChecks | undefined;
  /** By the index of a range. */
  readonly isVerified: Uint8Array;
}

/** About how many bytes of adjacent ranges are read together. */
const RUN_BYTES = 1024 * 1024;
/** How many files are verified before the event loop runs other work. */
const YIELD_FILES = 16;
/** The limits of the cache: its files, and the ranges of all of them. */
const MAX_FILES = 16_384;
const MAX_RANGES = 262_144;

/** Opening a FIFO in place of the file must not block. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

function notRegular(): DamagedFileError {
  return new DamagedFileError('The path is not a regular file.');
}

/** Creates a verifier with an empty cache. */
export function createFileVerifier(): FileVerifier {
  const known = createKnownFiles();

  /** Verifies a part of a file step by step; yields the bytes of each step and the number of rows verified by then. */
  async function* steps({ path, isOwn, part }: FileCheck, signal: AbortSignal): AsyncGenerator<Step, Verified> {
    const status = statSync(path, { bigint: true });
    if (!status.isFile()) throw notRegular();
    const seen = known.get(path, versionOfFile(status, isOwn));
    if (seen !== undefined && missing(seen, part).length === 0) return { isChecked: seen.checks !== undefined };
    const file = openSync(path, OPEN_FLAGS);
    try {
      const { checks, isVerified } = seen ?? load(file, path, isOwn === true);
      const wanted = checks === undefined ? [] : missing({ checks, isVerified }, part);
      for (const { ranges, rows } of runsOf(wanted, checks?.groupRows ?? [], part)) {
        if (signal.aborted) throw new CancelledError();
        await compare(file, ranges, isVerified);
        yield { bytes: bytesOf(ranges), rows };
      }
      return { isChecked: checks !== undefined };
    } catch (error) {
      throw error instanceof ShortFileError ? new DamagedFileError(error.message) : error;
    } finally {
      closeSync(file);
    }
  }

  function load(file: number, path: string, isOwn: boolean): KnownFile {
    const found = fstatSync(file, { bigint: true });
    if (!found.isFile()) throw notRegular();
    const checks = loadChecks(file, Number(found.size), isOwn);
    const isVerified = new Uint8Array(checks?.ranges.length ?? 0);
    return known.add(path, { version: versionOfFile(found, isOwn), checks, isVerified });
  }

  /** Verifies rows of several files. Counts the rows of all of them. */
  async function* stepsOfAll(checks: readonly RowsCheck[], signal: AbortSignal): AsyncGenerator<Step> {
    let before = 0;
    for (const [i, check] of checks.entries()) {
      const after = i === checks.length - 1 ? Infinity : before + check.part.to - check.part.from;
      for await (const { bytes, rows } of steps(check, signal)) yield { bytes, rows: Math.min(before + rows, after) };
      yield { bytes: 0, rows: after };
      before = after;
    }
  }

  async function verify(checks: readonly FileCheck[], signal: AbortSignal, again = false): Promise<Verified> {
    let isChecked = true;
    for (const [i, check] of checks.entries()) {
      if (i % YIELD_FILES === YIELD_FILES - 1) await setImmediate();
      if (again) known.remove(check.path);
      const all = steps(check, signal);
      let next = await all.next();
      while (next.done !== true) next = await all.next();
      isChecked = isChecked && next.value.isChecked;
    }
    return { isChecked };
  }

  return {
    verify,
    async rows(checks, signal) {
      const verified = createVerifiedRows(stepsOfAll(checks, signal), () => verify(checks, signal, true));
      // Verify the first rows before anything reads them; for a short read, these are all.
      await verified.upTo(1);
      return verified;
    },
  };
}

/** A range and its index. */
interface WantedRange extends CheckedRange {
  readonly at: number;
}

/** Returns the unverified ranges of a part. */
function missing({ checks, isVerified }: Omit<KnownFile, 'version'>, part: FileCheck['part']): WantedRange[] {
  if (checks === undefined || part === 'footer') return [];
  const isWanted = part === 'all' ? () => true : wantedRanges(checks, part);
  return checks.ranges.flatMap((range, at) => (isVerified[at] === 0 && isWanted(range) ? [{ ...range, at }] : []));
}

function wantedRanges({ groupRows }: FileChecks, { from, to, columns }: RowsPart): (range: CheckedRange) => boolean {
  const chosen = columns && new Set(columns);
  const starts = firstRows(groupRows);
  return ({ group, column }) => {
    const start = starts[group] ?? Infinity;
    return start < to && start + (groupRows[group] ?? 0) > from && (chosen?.has(column) ?? true);
  };
}

function firstRows(groupRows: readonly number[]): number[] {
  let first = 0;
  return groupRows.map((rows) => (first += rows) - rows);
}

/** Adjacent ranges in the file, and how many of the requested rows are verified after them. */
interface Run {
  readonly ranges: readonly WantedRange[];
  readonly rows: number;
}

function runsOf(wanted: readonly WantedRange[], groupRows: readonly number[], part: FileCheck['part']): Run[] {
  const runs: WantedRange[][] = [];
  for (const range of wanted) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)?.end === range.start && bytesOf(run) < RUN_BYTES) run.push(range);
    else runs.push([range]);
  }
  const starts = firstRows(groupRows);
  const from = typeof part === 'string' ? 0 : part.from;
  // Rows count up to the first row group of a later run.
  let rows = Infinity;
  return runs
    .toReversed()
    .map((ranges) => {
      const run = { ranges, rows };
      rows = ranges.reduce((least, { group }) => Math.min(least, (starts[group] ?? Infinity) - from), rows);
      return run;
    })
    .toReversed();
}

function bytesOf(ranges: readonly CheckedRange[]): number {
  return (ranges.at(-1)?.end ?? 0) - (ranges[0]?.start ?? 0);
}

async function compare(file: number, ranges: readonly WantedRange[], isVerified: Uint8Array): Promise<void> {
  const found = await readChecksums(file, ranges);
  for (const [i, { at, crc, start, end }] of ranges.entries()) {
    if (found[i]?.crc !== crc) throw new DamagedFileError(`The bytes ${start} to ${end} do not match their checksum.`);
    isVerified[at] = 1;
  }
}

/** An LRU cache of files. */
function createKnownFiles(): {
  get(path: string, version: string): KnownFile | undefined;
  add(path: string, file: KnownFile): KnownFile;
  remove(path: string): void;
} {
  const files = new Map<string, KnownFile>();
  let ranges = 0;
  function remove(path: string): void {
    ranges -= files.get(path)?.isVerified.length ?? 0;
    files.delete(path);
  }
  function add(path: string, file: KnownFile): KnownFile {
    remove(path);
    files.set(path, file);
    ranges += file.isVerified.length;
    for (const oldest of files.keys()) {
      if (files.size <= MAX_FILES && ranges <= MAX_RANGES) break;
      if (oldest !== path) remove(oldest);
    }
    return file;
  }
  return {
    get(path, version) {
      const file = files.get(path);
      return file?.version === version ? add(path, file) : undefined;
    },
    add,
    remove,
  };
}

/** Incremental verification of rows. */
interface VerifiedRows {
  /** Resolves when this many rows are verified. */
  upTo(rows: number): Promise<void>;
  /** Verifies all rows again, because reading them has failed. */
  again(): Promise<{ readonly isChecked: boolean }>;
  end(): Promise<void>;
}

/** A verified part: its bytes, and how many of the requested rows are verified after it. */
interface Step {
  readonly bytes: number;
  readonly rows: number;
}

/** How many bytes are verified ahead of the requested rows. */
const AHEAD_BYTES = 64 * 1024 * 1024;

/** Creates a verification a little ahead of the requested rows, while DuckDB reads the same bytes. */
function createVerifiedRows(steps: AsyncGenerator<Step, unknown>, again: VerifiedRows['again']): VerifiedRows {
  const done: { rows: number; aheadBytes: number; failure?: Error } = { rows: 0, aheadBytes: 0 };
  /** The current step, if there is one. */
  let current: Promise<void> | undefined;
  let isOver = false;

  async function step(): Promise<void> {
    try {
      // Verification ahead of demand yields to other work.
      if (done.aheadBytes > 0) await setImmediate();
      const next = await steps.next();
      done.rows = next.done === true ? Infinity : next.value.rows;
      done.aheadBytes += next.done === true ? 0 : next.value.bytes;
    } catch (error) {
      done.failure = error instanceof Error ? error : new Error(String(error));
    }
    current = undefined;
    goOn();
  }

  function goOn(): void {
    if (isOver || done.failure !== undefined || done.rows === Infinity || done.aheadBytes >= AHEAD_BYTES) return;
    current ??= step();
  }

  return {
    async upTo(count) {
      done.aheadBytes = 0;
      goOn();
      while (done.rows < count && done.failure === undefined) {
        await current;
        done.aheadBytes = 0;
        goOn();
      }
      if (done.failure !== undefined) throw done.failure;
    },
    again,
    async end() {
      isOver = true;
      await current;
      await steps.return(undefined);
    },
  };
}
