import { stat } from 'node:fs/promises';
import { loadTlsFiles, TlsFileError } from '@svc/auth';
import type { Config } from '@svc/config';
import type { Diagnosis } from './diagnosis.ts';

const SOON_MS = 30 * 86_400_000;
/** Readable or writable by the group or by others. */
const FOREIGN_ACCESS = 0o066;

/** Checks the files of TLS: whether the server can use them, who can read the key, and when the certificate expires. */
export async function checkCertificate({ tls }: Config): Promise<readonly Diagnosis[]> {
  const { cert_file: certFile, key_file: keyFile, client_ca_file: clientCaFile, min_version: minVersion } = tls;
  if (certFile === undefined || keyFile === undefined) return [];
  try {
    const { expires } = await loadTlsFiles({ certFile, keyFile, clientCaFile, minVersion });
    return [...(await modeWarnings(keyFile)), expiryOf(expires)];
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error;
    const advice = `Correct the file, or name another one with tls.${error.setting}.`;
    return [{ status: 'problem', text: error.message, advice }];
  }
}

async function modeWarnings(path: string): Promise<readonly Diagnosis[]> {
  const { mode } = await stat(path);
  if ((mode & FOREIGN_ACCESS) === 0 || process.platform === 'win32') return [];
  const text = `Other users can read or change the key file ${JSON.stringify(path)}.`;
  return [{ status: 'warning', text, advice: 'Run chmod 600 on it, with the user of the server as its owner.' }];
}

function expiryOf(expires: Date): Diagnosis {
  const text = `The certificate of the server is valid until ${expires.toISOString()}.`;
  if (expires.getTime() > Date.now() + SOON_MS) return { status: 'ok', text };
  return { status: 'warning', text, advice: 'Renew it: the server reads the new files within 5 seconds.' };
}
