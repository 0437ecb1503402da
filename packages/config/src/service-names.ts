import { join } from 'node:path';
import type { SettingRow } from './setting-rows.ts';

/** A variable of a setting, under its real name. */
export interface Variable {
  readonly name: string;
  /** The setting's text out of the variable's; undefined when it holds none. */
  readonly read: (text: string) => string | undefined;
}

/** The names that follow from the service's own name. */
export interface ServiceNames {
  /** `service` → `SERVICE_`. */
  readonly prefix: string;
  /** The variable that names the configuration file. */
  readonly fileVariable: string;
  /** The default configuration file, for people: `~/.service/config.toml`. */
  readonly defaultFile: string;
  /** The default configuration file of a user; undefined where there is no home directory. */
  defaultFileIn(homeDir: string): string | undefined;
  /** The variables of a setting; the first one set wins. */
  variablesOf(row: SettingRow): readonly Variable[];
}

/** Derives all names from the service's name: lower-case letters, digits and dashes. */
export function createServiceNames(name: string): ServiceNames {
  if (!/^[a-z][a-z\d]*(-[a-z\d]+)*$/.test(name)) {
    throw new TypeError(
      `The service name ${JSON.stringify(name)} is not lower-case letters, digits and single dashes.`,
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
