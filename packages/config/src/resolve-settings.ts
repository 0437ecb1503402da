import * as v from 'valibot';
import type { Facts, Setting } from './setting.ts';
import { rowsOf, SECTIONS, SETTING_ROWS, type SettingRow, type SETTINGS } from './settings.ts';
import type { Finding, Given, Source } from './source.ts';
import { ANY_HOST, type SettingValue } from './value-type.ts';

/** The settings with their values, as far as they are valid. */
export interface Resolved {
  /** A refused value is undefined here, and listed in the problems. */
  readonly draft: Draft;
  /** Undefined if there are problems. */
  readonly config: Config | undefined;
  readonly sources: Sources;
  readonly problems: readonly Finding[];
}

/** A `Config` any of whose values may be missing. */
type Draft = {
  readonly [Section in keyof Config]: { readonly [Key in keyof Config[Section]]: Config[Section][Key] | undefined };
};

/** Checks the given values and fills in the defaults. */
export function resolveSettings(given: ReadonlyMap<string, Given>, isTerminal: boolean): Resolved {
  const values = new Map<string, SettingValue | undefined>();
  const sources = new Map<string, Source>();
  const problems: Finding[] = [];
  for (const row of SETTING_ROWS) {
    const found = given.get(row.path);
    if (found === undefined) continue;
    const raw = 'text' in found ? row.setting.type.fromText(found.text) : found.value;
    const result = v.safeParse(row.setting.type.schema, raw, { abortPipeEarly: true, abortEarly: true });
    values.set(row.path, result.success ? result.output : undefined);
    sources.set(row.path, found.source);
    if (!result.success) problems.push(refusedValue(row, found, result.issues[0].message));
  }
  const dataDir = values.get('storage.data_dir');
  const listener = values.get('server.http_bind_address');
  const facts: Facts = {
    isTerminal,
    dataDir: typeof dataDir === 'string' ? dataDir : undefined,
    hasCallers: ['auth.callers_file', 'auth.jwks'].some((path) => given.has(path)),
    httpHost: typeof listener === 'object' && 'host' in listener ? listener.host : ANY_HOST,
  };
  for (const { path, setting } of SETTING_ROWS) {
    if (sources.has(path)) continue;
    const derived = setting.derived?.value(facts);
    const from = derived === undefined ? undefined : setting.derived?.from;
    values.set(path, derived ?? setting.default);
    sources.set(path, from === undefined ? { kind: 'default' } : { kind: 'derived', from });
  }
  const draft = nest((path) => values.get(path));
  const config = problems.length === 0 ? draft : undefined;
  // The keys are those of the table, and each value comes from the schema or the default of its row.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { draft, config, sources: nest((path) => sources.get(path)), problems } as Resolved;
}

/** One value for each setting, in the shape of the table. */
function nest(valueOf: (path: string) => unknown): unknown {
  return Object.fromEntries(
    SECTIONS.map((section) => [
      section,
      Object.fromEntries(rowsOf(section).map(({ key, path }) => [key, valueOf(path)])),
    ]),
  );
}

function refusedValue(row: SettingRow, { source, ...given }: Given, expected: string): Finding {
  const value = showValue('text' in given ? given.text : given.value, row.setting);
  return {
    source,
    setting: row.path,
    value,
    message: `${row.path} is ${value}, but must be ${expected}.`,
    hint: `For example: ${exampleFor(row, source)}`,
  };
}

function exampleFor({ key, setting }: SettingRow, source: Source): string {
  const { type, example } = setting;
  if (source.kind === 'flag') return `${source.name} ${type.toText(example)}`;
  if (source.kind === 'variable') return `${source.name}=${type.toText(example)}`;
  return `${key} = ${type.toToml(example)}`;
}

const MAX_SHOWN = 100;

/** Formats a refused value for a message: text in quotes, truncated if long, without credentials. */
function showValue(value: unknown, { secret, type }: Setting): string {
  if (secret === true) return '***';
  const shown = type.redact?.(describe(value)) ?? describe(value);
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return 'a date or time';
  if (!Array.isArray(value)) return 'a table';
  return `[${value.slice(0, MAX_SHOWN).map(describe).join(', ')}]`;
}

type Table = typeof SETTINGS;

type ValueOf<S> = S extends Setting<infer T, infer D> ? T | Extract<D, undefined> : never;

/** The values of all settings, by section and key; undefined = not set. */
export type Config = {
  readonly [Section in keyof Table]: {
    readonly [Key in keyof Table[Section]]: ValueOf<Table[Section][Key]>;
  };
};

/** Where each value of a `Config` came from, in the same shape. */
export type Sources = {
  readonly [Section in keyof Table]: { readonly [Key in keyof Table[Section]]: Source };
};
