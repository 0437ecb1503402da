import { describeSource, type Finding, loadConfig, type LoadConfigResult, type Setting, SETTINGS } from '@svc/config';
import type { Arguments, CommandOption, Context } from './command.ts';

/** The name in the variables (`SERVICE_…`) and the file (`~/.service/`) of the server. */
export const SERVICE_NAME = 'service';

/** The flag of every command with the configuration of the server. */
export const CONFIG_OPTION: CommandOption = {
  value: '<file>',
  summary: 'TOML file; default ~/.service/config.toml.',
};

/** The configuration of `svc serve` here, or its problems. */
export type ServerConfig = Extract<LoadConfigResult, { kind: 'config' | 'problems' }>;

/** Loads the configuration as `svc serve` would. */
export function loadServerConfig(args: Arguments, { env, homeDir, stderr }: Context): ServerConfig {
  const file = args.text('config');
  const argv = file === undefined ? [] : [`--config=${file}`];
  const loaded = loadConfig({ name: SERVICE_NAME, argv, env, homeDir, isTerminal: stderr.width !== undefined });
  if (loaded.kind === 'config' || loaded.kind === 'problems') return loaded;
  throw new TypeError(`Unexpected result of loadConfig: ${loaded.kind}.`);
}

/** A setting of the server and its position in the table. */
export interface NamedSetting {
  readonly section: string;
  readonly key: string;
  readonly setting: Setting;
}

/** All settings, in the order of the table. */
export const NAMED_SETTINGS: readonly NamedSetting[] = Object.entries(SETTINGS).flatMap(([section, settings]) =>
  Object.entries<Setting>(settings).map(([key, setting]) => ({ section, key, setting })),
);

/** Formats a finding about the configuration on one line. */
export function findingText({ source, message }: Finding): string {
  return `${message} (${describeSource(source)})`;
}
