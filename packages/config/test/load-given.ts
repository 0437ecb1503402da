import { rootCertificates } from 'node:tls';
import { loadConfig, type LoadConfigOptions, type LoadConfigResult, type LoadedConfig } from '../src/index.ts';

/** The default configuration file of the user these tests run as. */
export const FILE = '/home/ada/.service/config.toml';

/** A file with a certificate in it. */
export const CA_FILE = '/etc/ssl/ca.pem';

const TLS = { SERVICE_TLS_CERT_FILE: '/c', SERVICE_TLS_KEY_FILE: '/k' };

const COMPANY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'tsdb.password': { SERVICE_TSDB_USER: 'u' },
  'auth.jwks': { SERVICE_AUTH_JWT_ISSUER: 'i', SERVICE_AUTH_JWT_AUDIENCE: 'a' },
  'scheduler.url': {
    SERVICE_DATA_DIR: '/d',
    SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:9000',
    SERVICE_GRPC_HOST: '127.0.0.1',
  },
  'tls.cert_file': TLS,
  'tls.key_file': TLS,
  'tls.client_ca_file': TLS,
  'tls.client_certificates': { ...TLS, SERVICE_TLS_CLIENT_CA_FILE: '/a' },
};

/** The variables that a setting needs beside it. */
export function companyOf({ path, key }: { readonly path: string; readonly key: string }): Record<string, string> {
  const others = Object.entries(COMPANY[path] ?? {}).filter(([name]) => !name.endsWith(`_${key.toUpperCase()}`));
  return Object.fromEntries(others);
}

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
