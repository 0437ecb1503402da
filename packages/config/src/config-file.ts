import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { parse } from '@iarna/toml';
import { nearestName } from '@svc/errors';
import * as v from 'valibot';
import { REMOVED_SETTINGS, rowsOf, SECTIONS, SETTING_ROWS } from './settings.ts';
import type { Finding, Given } from './source.ts';

/** The content of the configuration file. */
export interface ConfigFile {
  readonly path: string;
  /** False if the whole file was refused: its settings are unknown. */
  readonly isRead: boolean;
  /** By path of the setting. */
  readonly given: ReadonlyMap<string, Given>;
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

const MAX_FILE_BYTES = 64 * 2 ** 10;

/**
 * Reads and parses the file. `namedBy` is the flag or variable with its name. Without one it is the default file, and
 * the result is undefined if the file does not exist.
 */
export function readConfigFile(path: string, namedBy: string | undefined, readFile: ReadFile): ConfigFile | undefined {
  const refuse = (message: string, hint: string): ConfigFile => ({
    path,
    isRead: false,
    given: new Map(),
    problems: [{ source: { kind: 'file', path }, message, hint }],
    warnings: [],
  });
  let bytes: Uint8Array;
  try {
    bytes = readFile(path, MAX_FILE_BYTES);
  } catch (error) {
    const reason = readFailure(error);
    if (reason === MISSING && namedBy === undefined) return undefined;
    const by = namedBy === undefined ? '' : ` (named by ${namedBy})`;
    return refuse(
      `The configuration file ${JSON.stringify(path)}${by} cannot be read: ${reason}.`,
      'Name a TOML file that the server can read.',
    );
  }
  if (bytes.length > MAX_FILE_BYTES) {
    return refuse(`The configuration file is larger than ${MAX_FILE_BYTES} bytes.`, 'Name a TOML file of settings.');
  }
  let table: unknown;
  try {
    table = parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return refuse(parseFailure(error), 'Correct the file; the settings reference has a complete example.');
  }
  return { path, isRead: true, ...readTable(isTable(table) ? table : {}, path) };
}

/** Uses only the first part of the parser's message: the rest quotes nearby lines, perhaps with a password. */
function parseFailure(error: unknown): string {
  if (!v.is(v.object({ message: v.string(), line: v.number(), col: v.number() }), error)) {
    return error instanceof TypeError && error.message === 'Invalid Datetime'
      ? 'The configuration file is not TOML: it contains a date that does not exist.'
      : 'The configuration file is not TOML in UTF-8.';
  }
  const [said = ''] = error.message.split(' at row ', 1);
  const reason = said.replace(/"?\b(\d+)"?$/, (_, code: string) => describeCharacter(Number(code)));
  // The parser counts columns from 1 on the first line and from 0 on the others.
  const column = error.line === 0 ? error.col : error.col + 1;
  return `The configuration file is not TOML: line ${error.line + 1}, column ${column}: ${reason}.`;
}

/** The parser names characters by code point; a number beyond Unicode marks the end of the text. */
function describeCharacter(code: number): string {
  return code > 0x10_ff_ff ? 'the end of the file' : JSON.stringify(String.fromCodePoint(code));
}

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function readTable(table: Table, file: string): Omit<ConfigFile, 'path' | 'isRead'> {
  const given = new Map<string, Given>();
  const problems: Finding[] = [];
  const warnings: Finding[] = [];
  for (const [section, content] of Object.entries(table)) {
    if (!SECTIONS.includes(section)) {
      warnings.push(unknownKey(section, isTable(content), file));
    } else if (!isTable(content)) {
      problems.push(notATable(section, file));
    } else {
      for (const [key, value] of Object.entries(content)) {
        const path = `${section}.${key}`;
        if (!rowsOf(section).some((row) => row.key === key)) warnings.push(unknownKey(path, false, file));
        else given.set(path, { source: { kind: 'file', path: file, key: path }, value });
      }
    }
  }
  return { given, problems, warnings };
}

function notATable(section: string, path: string): Finding {
  return {
    source: { kind: 'file', path, key: section },
    message: `${section} is a section of settings, but the file gives it a value.`,
    hint: `Write [${section}] on a line of its own and its settings below.`,
  };
}

function unknownKey(key: string, isSection: boolean, path: string): Finding {
  const source = { kind: 'file', path, key } as const;
  const instead = REMOVED_SETTINGS.get(key);
  if (instead !== undefined) return { source, message: `The setting ${key} is gone; it is ignored.`, hint: instead };
  const nearest = nearestName(key, isSection ? SECTION_NAMES : KEY_NAMES) ?? settingsWithKey(key.replace(/^.*\./s, ''));
  return {
    source,
    message: `There is no ${isSection ? 'section' : 'setting'} ${JSON.stringify(key)}; it is ignored.`,
    hint: nearest === undefined ? '--help lists the settings.' : `Did you mean ${nearest}?`,
  };
}

const SECTION_NAMES = new Map(SECTIONS.map((name) => [name, name]));
const KEY_NAMES = new Map(SETTING_ROWS.map(({ path }) => [path, path]));

/** Suggestions for a setting in the wrong section or in none. */
function settingsWithKey(key: string): string | undefined {
  const paths = SETTING_ROWS.filter((row) => row.key === key).map((row) => row.path);
  return paths.length === 0 ? undefined : paths.join(' or ');
}

/**
 * Reads a whole file; throws what `node:fs` throws. If the file has more than `maxBytes`, the result may be its first
 * `maxBytes + 1` bytes.
 */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array;

/** How long to wait for data from a pipe. */
const PIPE_MS = 5000;
const PIPE_POLL_MS = 10;

/** No data arrived on the pipe in time. */
class SilentPipeError extends Error {
  readonly code = 'silent_pipe';
}

/**
 * Reads at most one byte more than `maxBytes`, from files, pipes and devices. Waits for a pipe, such as `<(…)` in a
 * shell, but only for `pipeMs`: it may never get a writer.
 */
export function readBoundedFile(path: string, maxBytes: number, pipeMs: number = PIPE_MS): Uint8Array {
  // A blocking open of a pipe without a writer would wait for one.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const bytes = new Uint8Array(maxBytes + 1);
    // After a plain stat of a pipe, Node does not follow some links when it resolves imports. `bigint` avoids that.
    const isPipe = fstatSync(file, { bigint: true }).isFIFO();
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      const rest = bytes.subarray(length);
      count = isPipe
        ? readPipe(file, rest, { hasBegun: length > 0, pipeMs })
        : readSync(file, rest, 0, rest.length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** Returns the number of bytes read, 0 at the end. Before the first byte, 0 stands for a pipe without a writer yet. */
function readPipe(
  file: number,
  bytes: Uint8Array,
  { hasBegun, pipeMs }: { readonly hasBegun: boolean; readonly pipeMs: number },
): number {
  for (const end = performance.now() + pipeMs; performance.now() < end; pause(PIPE_POLL_MS)) {
    const count = readNow(file, bytes);
    if (count === undefined || (count === 0 && !hasBegun)) continue;
    return count;
  }
  throw new SilentPipeError();
}

/** Undefined: the writer of the pipe has not written anything yet. */
function readNow(file: number, bytes: Uint8Array): number | undefined {
  try {
    return readSync(file, bytes, 0, bytes.length, null);
  } catch (error) {
    if (v.is(v.object({ code: v.literal('EAGAIN') }), error)) return undefined;
    throw error;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The reason for a missing file. */
const MISSING = 'there is no such file';

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: MISSING,
  ENOTDIR: MISSING,
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EISDIR: 'it is a directory',
  ENXIO: 'it is a socket, or a device that does not exist',
  silent_pipe: 'it is a pipe that nothing writes to',
};

/** Describes in a few words why a file could not be read. */
export function readFailure(error: unknown): string {
  const code = v.is(v.object({ code: v.string() }), error) ? error.code : 'an unknown failure';
  return READ_FAILURES[code] ?? `the system says ${code}`;
}
