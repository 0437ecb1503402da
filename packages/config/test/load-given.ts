import { rootCertificates } from 'node:tls';
import { loadConfig, type LoadConfigOptions, type LoadConfigResult, type LoadedConfig } from '../src/index.ts';

/** The default configuration file of the user these tests run as. */
export const FILE = '/home/ada/.service/config.toml';

/** A file with a certificate in it. */
export const CA_FILE = '/etc/ssl/ca.pem';

/** The sources that a test sets; all others are empty. */
export interface Given extends Partial<LoadConfigOptions> {
  /** The text of the default file. Default: no file. */
  readonly toml?: string;
}

/** Loads the given sources only, nothing from this machine. */
export function load({ toml, ...options }: Given): LoadConfigResult {
  return loadConfig({
    name: 'service',
    argv: [],
    env: {},
    homeDir: '/home/ada',
    readFile: (path) => {
      if (path === FILE && toml !== undefined) return Buffer.from(toml);
      if (path === CA_FILE) return Buffer.from(rootCertificates.slice(0, 2).join('\n'));
      throw Object.assign(new Error('none'), { code: 'ENOENT' });
    },
    ...options,
  });
}

/** The same; throws unless the result is a configuration. */
export function loaded(given: Given): LoadedConfig {
  const result = load(given);
  if (result.kind !== 'config') throw new Error(`not a config: ${JSON.stringify(result)}`);
  return result;
}
