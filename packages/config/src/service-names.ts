import { join } from 'node:path';
import type { SettingRow } from './setting-rows.ts';

/** A variable of a setting, under its real name. */
export interface Variable {
  readonly name: string;
  /** Extracts the text of the setting; undefined if the variable holds none. */
  readonly read: (text: string) => string | undefined;
}

/** The names derived from the name of the service. */
export interface ServiceNames {
  /** `service` → `SERVICE_`. */
  readonly prefix: string;
  /** The variable that names the configuration file. */
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
