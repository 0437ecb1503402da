import { X509Certificate } from 'node:crypto';
import { readFailure, type ReadFile } from './bounded-file.ts';
import type { Resolved } from './resolve-settings.ts';
import type { Finding } from './source.ts';

/** Larger than the bundle of all authorities of a system. */
const MAX_FILE_BYTES = 2 ** 20;

/** Checks the files of certificate authorities, so that the start fails and not the first use. */
export function caFileProblems({ draft, sources }: Resolved, readFile: ReadFile): readonly Finding[] {
  return SECTIONS.flatMap(({ section, server }) => {
    const path = draft[section].ca_file;
    const reason = path === undefined ? undefined : failureOf(path, readFile);
    if (reason === undefined) return [];
    const value = JSON.stringify(path);
    return [
      {
        source: sources[section].ca_file,
        setting: `${section}.ca_file`,
        value,
        message: `${section}.ca_file is ${value}, ${reason}.`,
        hint: `Name a PEM file with the certificate of the authority that signed the certificate of ${server}.`,
      },
    ];
  });
}

/** The sections that have a `ca_file`, and the server that it is for. */
const SECTIONS = [
  { section: 'tsdb', server: 'the time-series database' },
  { section: 'auth', server: 'the server of auth.jwks' },
  { section: 'scheduler', server: 'the cluster' },
  { section: 'traces', server: 'the collector' },
] as const;

function failureOf(path: string, readFile: ReadFile): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFile(path, MAX_FILE_BYTES);
  } catch (error) {
    return `which cannot be read: ${readFailure(error)}`;
  }
  if (bytes.length > MAX_FILE_BYTES) return `which is larger than ${MAX_FILE_BYTES} bytes`;
  return holdsCertificates(new TextDecoder().decode(bytes)) ? undefined : 'which does not contain PEM certificates';
}

/** OpenSSL accepts any text silently and then trusts no certificate, so the file is checked here. */
function holdsCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).serialNumber !== '');
  } catch {
    return false;
  }
}
