import type { Resolved } from '../resolve-settings.ts';
import { type Finding, isGiven } from '../source.ts';

/** Refuses settings without which the server would be less protected than another setting says. */
export function tlsProblems(resolved: Resolved): readonly Finding[] {
  const { tls } = resolved.sources;
  const isRequired = resolved.draft.tls.client_certificates === 'required';
  return [
    ...(isGiven(tls.cert_file) ? [] : withoutCertificate(resolved)),
    ...(isGiven(tls.cert_file) && !isGiven(tls.key_file)
      ? [missing(resolved, 'cert_file', 'key_file', 'Set tls.key_file to the private key of the certificate.')]
      : []),
    ...(isRequired && !isGiven(tls.client_ca_file)
      ? [
          missing(
            resolved,
            'client_certificates',
            'client_ca_file',
            'Set tls.client_ca_file to the authorities that sign the certificates of clients.',
          ),
        ]
      : []),
  ];
}

function withoutCertificate(resolved: Resolved): readonly Finding[] {
  return (['key_file', 'client_ca_file'] as const)
    .filter((name) => isGiven(resolved.sources.tls[name]))
    .map((name) =>
      missing(resolved, name, 'cert_file', 'Set tls.cert_file and tls.key_file to a certificate and its private key.'),
    );
}

type TlsKey = keyof Resolved['sources']['tls'];

function missing({ sources }: Resolved, name: TlsKey, needed: TlsKey, hint: string): Finding {
  const message = `tls.${name} is set, but tls.${needed} is not.`;
  return { source: sources.tls[name], setting: `tls.${name}`, message, hint };
}
