import { type Setting, setting } from '../setting.ts';
import { choice, path } from '../value-type.ts';

/** The section `tls`. */
export const TLS_SETTINGS = {
  cert_file: setting({
    type: path('file'),
    default: undefined,
    description:
      'PEM file with the certificate of the server, then those of its intermediate authorities; with it, both listeners use TLS. Changes take effect within 5 seconds.',
    example: '/etc/service/tls/cert.pem',
  }),
  key_file: setting({
    type: path('file'),
    default: undefined,
    description: 'PEM file with the private key of tls.cert_file, not encrypted.',
    example: '/etc/service/tls/key.pem',
  }),
  min_version: setting({
    type: choice(['1.2', '1.3']),
    default: '1.2',
    description: 'The lowest version of TLS that clients may use.',
    example: '1.3',
  }),
  client_ca_file: setting({
    type: path('file'),
    default: undefined,
    description:
      'PEM file of the certificate authorities of clients; with it, clients are asked for a certificate, which can prove who they are. Changes take effect within 5 seconds.',
    example: '/etc/service/tls/client-ca.pem',
  }),
  client_certificates: setting({
    type: choice(['optional', 'required']),
    default: 'optional',
    description: 'Whether connections without a certificate of tls.client_ca_file are accepted.',
    example: 'required',
  }),
} as const satisfies Record<string, Setting>;
