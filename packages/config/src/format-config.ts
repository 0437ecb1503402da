import type { LoadedConfig } from './load-config.ts';
import { rowsOf, SECTIONS } from './setting-rows.ts';
import { describeSource, type Source } from './source.ts';
import type { SettingValue } from './value-type.ts';

/** Formats the configuration as a TOML file: every setting with the source of its value, secrets hidden. */
export function formatConfig({ config, sources }: LoadedConfig): string {
  const values: Nested<SettingValue | undefined> = config;
  const origins: Nested<Source> = sources;
  const tables = SECTIONS.map((section) => {
    const lines = rowsOf(section).map(({ key, setting }) => {
      const value = values[section]?.[key];
      const source = origins[section]?.[key];
      if (value === undefined || source === undefined) return `# ${key} is not set`;
      const { secret, type } = setting;
      const toml = type.toToml(value);
      const written = secret === true ? '"***"' : (type.redact?.(toml) ?? toml);
      return `${key} = ${written} # from ${describeSource(source)}`;
    });
    return [`[${section}]`, ...lines, ''].join('\n');
  });
  return tables.join('\n');
}

type Nested<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;
