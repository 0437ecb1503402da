import { X509Certificate } from 'node:crypto';
import { readFailure, type ReadFile } from './bounded-file.ts';
import type { Resolved } from './resolve-settings.ts';
import type { Finding } from './source.ts';

/** Larger than the bundle of all authorities of a system. */
const MAX_FILE_BYTES = 2 ** 20;

/** Checks the file of `tsdb.ca_file`, so that the start fails and not the first query. */
export function caFileProblems({ draft, sources }: Resolved, readFile: ReadFile): readonly Finding[] {
  const path = draft.tsdb.ca_file;
  const reason = path === undefined ? undefined : failureOf(path, readFile);
  if (reason === undefined) return [];
  const value = JSON.stringify(path);
  return [
    {
      source: sources.tsdb.ca_file,
      setting: 'tsdb.ca_file',
      value,
      message: `tsdb.ca_file is ${value}, ${reason}.`,
      hint: 'Name a PEM file with the certificate of the authority that signed the certificate of the time-series database.',
    },
  ];
}

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
