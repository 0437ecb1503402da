import { parse } from '@iarna/toml';
import { nearestName } from '@svc/errors';
import * as v from 'valibot';
import { MISSING, readFailure, type ReadFile } from './bounded-file.ts';
import { rowsOf, SECTIONS, SETTING_ROWS } from './setting-rows.ts';
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
 * Reads and parses the file. `namedBy` is the flag or variable that names it. Without one it is the default file, and
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

/** Uses only the first part of the parser's message: the rest quotes nearby lines, which may hold a password. */
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
  const nearest = nearestName(key, isSection ? SECTION_NAMES : KEY_NAMES) ?? settingsWithKey(key.replace(/^.*\./s, ''));
  return {
    source: { kind: 'file', path, key },
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
