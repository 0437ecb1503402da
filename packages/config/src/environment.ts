import { join } from 'node:path';
import { nearestName } from '@svc/errors';
import { REMOVED_SETTINGS, SETTING_ROWS, type SettingRow } from './settings.ts';
import type { Finding, Given } from './source.ts';

/** The settings in the environment. */
interface Environment {
  /** By path of the setting. */
  readonly given: ReadonlyMap<string, Given>;
  /** The file named by `SERVICE_CONFIG`. */
  readonly file: string | undefined;
  readonly warnings: readonly Finding[];
}

/** Environment variables, as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Reads the variables of all settings. An empty variable counts as not set. */
export function readEnvironment(env: Variables, names: ServiceNames): Environment {
  const given = new Map<string, Given>();
  for (const row of SETTING_ROWS) {
    for (const { name, read } of names.variablesOf(row)) {
      const text = read(env[name] ?? '') ?? '';
      if (text !== '' && !given.has(row.path)) given.set(row.path, { source: { kind: 'variable', name }, text });
    }
  }
  return { given, file: env[names.fileVariable] || undefined, warnings: unknownVariables(env, names) };
}

function unknownVariables(env: Variables, names: ServiceNames): readonly Finding[] {
  const variables = SETTING_ROWS.flatMap((row) => names.variablesOf(row));
  const removed = new Map(
    [...REMOVED_SETTINGS].map(([path, instead]): [string, string] => [variableOf(path, names), instead]),
  );
  const known = new Set([names.fileVariable, ...variables.map(({ name }) => name)]);
  return Object.keys(env)
    .filter((name) => name.startsWith(names.prefix) && env[name] !== '' && !known.has(name))
    .toSorted()
    .map((name) => {
      const source = { kind: 'variable', name } as const;
      const instead = removed.get(name);
      if (instead !== undefined) {
        return { source, message: `The setting of the variable ${name} is gone; it is ignored.`, hint: instead };
      }
      const nearest = nearestName(name, suggestions(known, names));
      return {
        source,
        message: `No setting has the variable ${JSON.stringify(name)}; it is ignored.`,
        hint: nearest === undefined ? '--help lists the variables.' : `Did you mean ${nearest}?`,
      };
    });
}

/** All variables; also `SERVICE_SECTION_KEY` of each setting, with its real name. */
function suggestions(known: ReadonlySet<string>, names: ServiceNames): ReadonlyMap<string, string> {
  const paths = SETTING_ROWS.flatMap((row) =>
    names
      .variablesOf(row)
      .slice(0, 1)
      .map(({ name }): [string, string] => [variableOf(row.path, names), name]),
  );
  return new Map([...paths, ...[...known].map((name): [string, string] => [name, name])]);
}

/** Returns the variable of a setting that has no other name. */
function variableOf(path: string, { prefix }: ServiceNames): string {
  return `${prefix}${path.toUpperCase().replace('.', '_')}`;
}

/** A variable of a setting, under its real name. */
interface Variable {
  readonly name: string;
  /** Extracts the text of the setting; undefined if the variable holds none. */
  readonly read: (text: string) => string | undefined;
}

/** The names derived from the name of the service. */
export interface ServiceNames {
  /** `service` → `SERVICE_`. */
  readonly prefix: string;
  /** The variable for the configuration file. */
  readonly fileVariable: string;
  /** The default configuration file, for people: `~/.service/config.toml`. */
  readonly defaultFile: string;
  /** The default configuration file of a user; undefined without a home directory. */
  defaultFileIn(homeDir: string): string | undefined;
  /** The variables of a setting; the first one set wins. */
  variablesOf(row: SettingRow): readonly Variable[];
}

/** Derives all names from the name of the service: lower-case letters, digits and dashes. */
export function createServiceNames(name: string): ServiceNames {
  if (!/^[a-z][a-z\d]*(-[a-z\d]+)*$/.test(name)) {
    throw new TypeError(
      `The service name ${JSON.stringify(name)} must consist of lower-case letters, digits and single dashes.`,
    );
  }
  const prefix = `${name.toUpperCase().replaceAll('-', '_')}_`;
  return {
    prefix,
    fileVariable: `${prefix}CONFIG`,
    defaultFile: `~/.${name}/config.toml`,
    defaultFileIn: (homeDir) => (homeDir === '' ? undefined : join(homeDir, `.${name}`, 'config.toml')),
    variablesOf: ({ path, setting }) =>
      (setting.env ?? [`SERVICE_${path.toUpperCase().replace('.', '_')}`]).map((variable) =>
        typeof variable === 'string' ? { name: variable.replace(/^SERVICE_/, prefix), read: (text) => text } : variable,
      ),
  };
}
