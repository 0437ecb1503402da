import { loadConfig } from '@svc/config';
import { expect, test } from 'vitest';
import { startWarnings } from '../src/run-server.ts';

const LOCAL = { SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:0', SERVICE_GRPC_HOST: '127.0.0.1' };
const TLS = { SERVICE_TLS_CERT_FILE: '/c', SERVICE_TLS_KEY_FILE: '/k' };
const TOKENS = { SERVICE_AUTH_CALLERS_FILE: '/t' };
const CLIENTS = { ...TLS, SERVICE_TLS_CLIENT_CA_FILE: '/a', SERVICE_TLS_CLIENT_CERTIFICATES: 'required' };
const METRICS = { SERVICE_METRICS_BIND_ADDRESS: '0.0.0.0:9003' };
const ANYONE = 'Anyone who can reach 0.0.0.0 can read and change every frame: there is no authentication.';

test.each([
  ['all interfaces', {}, [ANYONE]],
  ['all interfaces with TLS', TLS, [ANYONE]],
  [
    'all interfaces with required certificates and no callers',
    CLIENTS,
    [
      'Every client of 0.0.0.0 with a certificate of tls.client_ca_file can read and change every frame: there is no authentication.',
    ],
  ],
  ['all interfaces with tokens', TOKENS, ['Tokens for 0.0.0.0 cross the network unencrypted: there is no TLS.']],
  ['one open listener', { ...LOCAL, SERVICE_GRPC_HOST: '0.0.0.0' }, [ANYONE]],
  ['all interfaces with tokens and TLS', { ...TOKENS, ...TLS }, []],
  [
    'open metrics',
    { ...LOCAL, ...METRICS },
    ['Anyone who can reach 0.0.0.0 can read the metrics: there is no authentication.'],
  ],
  ['open metrics that are off', { ...LOCAL, ...METRICS, SERVICE_METRICS_ENABLED: 'false' }, []],
  [
    'open metrics with tokens',
    { ...LOCAL, ...METRICS, ...TOKENS },
    ['Tokens for 0.0.0.0 cross the network unencrypted: there is no TLS.'],
  ],
  ['open metrics with tokens and TLS', { ...LOCAL, ...METRICS, ...TOKENS, ...TLS }, []],
  ['metrics on loopback', { ...LOCAL, SERVICE_METRICS_BIND_ADDRESS: '[::1]:9003' }, []],
  ['loopback', LOCAL, []],
  ['loopback with tokens', { ...LOCAL, ...TOKENS }, []],
])('the warnings of %s', (_what, env, expected) => {
  const variables = { SERVICE_DATA_DIR: '/d', ...env };
  const loaded = loadConfig({ name: 'service', argv: [], env: variables, homeDir: '' });
  expect(loaded.kind === 'config' ? startWarnings(loaded.config) : loaded).toEqual(expected);
});
