import { nearestName } from '@svc/errors';
import type { ServiceNames } from './service-names.ts';
import { SETTING_ROWS } from './setting-rows.ts';
import type { Finding, Given } from './source.ts';

/** The settings in the environment. */
export interface Environment {
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
  const known = new Set([names.fileVariable, ...variables.map(({ name }) => name)]);
  return Object.keys(env)
    .filter((name) => name.startsWith(names.prefix) && env[name] !== '' && !known.has(name))
    .toSorted()
    .map((name) => {
      const nearest = nearestName(name, suggestions(known, names));
      return {
        source: { kind: 'variable', name },
        message: `No setting has the variable ${JSON.stringify(name)}; it is ignored.`,
        hint: nearest === undefined ? '--help lists the variables.' : `Did you mean ${nearest}?`,
      };
    });
}

/** All variables; also `SERVICE_SECTION_KEY` of each setting, with the name that works. */
function suggestions(known: ReadonlySet<string>, names: ServiceNames): ReadonlyMap<string, string> {
  const paths = SETTING_ROWS.flatMap((row) =>
    names
      .variablesOf(row)
      .slice(0, 1)
      .map(({ name }): [string, string] => [`${names.prefix}${row.path.toUpperCase().replace('.', '_')}`, name]),
  );
  return new Map([...paths, ...[...known].map((name): [string, string] => [name, name])]);
}
