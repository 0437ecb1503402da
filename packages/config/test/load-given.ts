import { loadConfig, type LoadConfigOptions, type LoadConfigResult, type LoadedConfig } from '../src/index.ts';

/** The default configuration file of the user these tests run as. */
export const FILE = '/home/ada/.service/config.toml';

/** What a test gives; everything else is empty. */
export interface Given extends Partial<LoadConfigOptions> {
  /** The text of the default file; none where it is left out. */
  readonly toml?: string;
}

/** Loads what is given, and nothing of this machine. */
export function load({ toml, ...options }: Given): LoadConfigResult {
  return loadConfig({
    name: 'service',
    argv: [],
    env: {},
    homeDir: '/home/ada',
    readFile: (path) => {
      if (path === FILE && toml !== undefined) return Buffer.from(toml);
      throw Object.assign(new Error('none'), { code: 'ENOENT' });
    },
    ...options,
  });
}

/** The same, where it is a configuration. */
export function loaded(given: Given): LoadedConfig {
  const result = load(given);
  if (result.kind !== 'config') throw new Error(`not a config: ${JSON.stringify(result)}`);
  return result;
}
