import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Callers, CallersFileError, loadCallers, loadTlsFiles, TlsFileError } from '@svc/auth';
import type { Config } from '@svc/config';
import { findingText, type ServerConfig } from '../args/server-config.ts';
import { CliError, errorCode } from '../errors.ts';
import { formatCount } from '../text.ts';

/** The result of one check. */
export interface Diagnosis {
  readonly status: 'ok' | 'warning' | 'problem';
  /** The finding, in a sentence. */
  readonly text: string;
  /** The advice, in a sentence. */
  readonly advice?: string | undefined;
}

/** How long a check waits for another process. */
export const TIMEOUT_MS = 3000;

/** Converts a failed request to a diagnosis. */
export function failedCheck(status: 'warning' | 'problem', error: unknown): Diagnosis {
  if (!(error instanceof CliError)) throw error;
  return { status, text: error.message, advice: error.hint };
}

/** The oldest supported Node, as in the manifests. */
const OLDEST = [20, 19] as const;

/** Refuses an old Node. */
export function checkNode(version: string): Diagnosis {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  if (isNewEnough) return { status: 'ok', text: `Node is ${version}.` };
  return {
    status: 'problem',
    text: `Node is ${version}, which is too old.`,
    advice: `Install Node ${OLDEST.join('.')} or newer.`,
  };
}

/** Loads the configuration of the server, for the other checks. */
export function checkConfiguration(loaded: ServerConfig): {
  readonly diagnoses: readonly Diagnosis[];
  readonly config: Config | undefined;
} {
  const warnings = loaded.warnings.map((warning): Diagnosis => ({
    status: 'warning',
    text: findingText(warning),
    advice: warning.hint,
  }));
  if (loaded.kind === 'problems') {
    const problems = loaded.problems.map((problem): Diagnosis => ({
      status: 'problem',
      text: findingText(problem),
      advice: problem.hint,
    }));
    return { diagnoses: [...problems, ...warnings], config: undefined };
  }
  const from = loaded.file === undefined ? 'there is no configuration file' : `from ${JSON.stringify(loaded.file)}`;
  return {
    diagnoses: [{ status: 'ok', text: `The configuration loads; ${from}.` }, ...warnings],
    config: loaded.config,
  };
}

/** The server must read and write its data directories. */
export async function checkDirectories({ storage }: Config): Promise<readonly Diagnosis[]> {
  const paths = [
    { setting: 'storage.data_dir', path: storage.data_dir, isFile: false },
    { setting: 'storage.parquet_path', path: storage.parquet_path, isFile: false },
    { setting: 'storage.duckdb_path', path: storage.duckdb_path, isFile: true },
  ].flatMap(({ path, ...rest }) => (path === undefined ? [] : [{ ...rest, path }]));
  if (paths.length === 0)
    return [{ status: 'ok', text: 'No data directory is set: frames are lost when the server stops.' }];
  return Promise.all(paths.map(checkPath));
}

interface StoragePath {
  readonly setting: string;
  readonly path: string;
  readonly isFile: boolean;
}

async function checkPath({ setting, path, isFile }: StoragePath): Promise<Diagnosis> {
  const name = `${setting}, ${JSON.stringify(path)},`;
  const there = await stat(path).catch(codeOf);
  if (there === 'ENOENT') return checkParent(name, path);
  if (typeof there === 'string') return notAllowed(name, path);
  if (isFile ? !there.isFile() : !there.isDirectory()) {
    return {
      status: 'problem',
      text: `${name} is not a ${isFile ? 'file' : 'directory'}.`,
      advice: `Move it away, or set ${setting} to another path.`,
    };
  }
  return (await isWritable(path, isFile))
    ? { status: 'ok', text: `${name} can be read and written.` }
    : notAllowed(name, path);
}

/** The server creates a missing directory. */
async function checkParent(name: string, path: string): Promise<Diagnosis> {
  let parent = dirname(path);
  while (parent !== dirname(parent) && (await stat(parent).catch(codeOf)) === 'ENOENT') parent = dirname(parent);
  return (await isWritable(parent, false))
    ? { status: 'ok', text: `${name} does not exist yet and can be created.` }
    : {
        status: 'problem',
        text: `${name} does not exist, and this user cannot create it.`,
        advice: `Create it, or give this user permission to write to ${JSON.stringify(parent)}.`,
      };
}

function notAllowed(name: string, path: string): Diagnosis {
  return {
    status: 'problem',
    text: `${name} cannot be read and written by this user.`,
    advice: `Run the server as another user, or change the owner or the permissions of ${JSON.stringify(path)}.`,
  };
}

async function isWritable(path: string, isFile: boolean): Promise<boolean> {
  const rights = constants.R_OK | constants.W_OK | (isFile ? 0 : constants.X_OK);
  return (await access(path, rights).catch(codeOf)) === undefined;
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? String(error);
}

/** Permissions of the group and of others. */
const FOREIGN = { write: 0o022, access: 0o066 };

/** Warns of a file if other users may use it in this way. */
async function modeWarnings(
  path: string,
  use: keyof typeof FOREIGN,
  warning: Pick<Diagnosis, 'text' | 'advice'>,
): Promise<readonly Diagnosis[]> {
  const { mode } = await stat(path);
  return (mode & FOREIGN[use]) === 0 || process.platform === 'win32' ? [] : [{ status: 'warning', ...warning }];
}

const TOKEN_SOON_MS = 14 * 86_400_000;

/** Loads the callers file like the server, and says who can change it, and which tokens expire. */
export async function checkCallers({ auth }: Config): Promise<readonly Diagnosis[]> {
  const path = auth.callers_file;
  if (path === undefined) return [];
  try {
    const callers = await loadCallers(path);
    const changeable = await modeWarnings(path, 'write', {
      text: `Other users can change the callers file ${JSON.stringify(path)}, and so add callers.`,
      advice: 'Run chmod go-w on it.',
    });
    return [...changeable, tokenExpiry(callers)];
  } catch (error) {
    if (!(error instanceof CallersFileError)) throw error;
    const advice = 'Correct the file, or name another one with auth.callers_file.';
    return [{ status: 'problem', text: error.message, advice }];
  }
}

function tokenExpiry({ tokens }: Callers): Diagnosis {
  const count = `The callers file has ${formatCount(tokens.size, 'token')}`;
  const ending = [...tokens.values()].filter(
    ({ expires }) => (expires?.getTime() ?? Infinity) < Date.now() + TOKEN_SOON_MS,
  );
  if (ending.length === 0) return { status: 'ok', text: `${count}.` };
  const ids = ending.map(({ id, expires }) => `${id} (${expires?.toISOString().slice(0, 10)})`);
  return {
    status: 'warning',
    text: `${count}; these expire within 14 days or have expired: ${ids.join(', ')}.`,
    advice: 'Create new ones with svc token create, and revoke the old ones.',
  };
}

const CERTIFICATE_SOON_MS = 30 * 86_400_000;

/** Checks if the server can use the files of TLS, who can read the key, and when the certificate expires. */
export async function checkCertificate({ tls }: Config): Promise<readonly Diagnosis[]> {
  const { cert_file: certFile, key_file: keyFile, client_ca_file: clientCaFile, min_version: minVersion } = tls;
  if (certFile === undefined || keyFile === undefined) return [];
  try {
    const { expires } = await loadTlsFiles({ certFile, keyFile, clientCaFile, minVersion });
    const readable = await modeWarnings(keyFile, 'access', {
      text: `Other users can read or change the key file ${JSON.stringify(keyFile)}.`,
      advice: 'Run chmod 600 on it, with the user of the server as its owner.',
    });
    return [...readable, certificateExpiry(expires)];
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error;
    const advice = `Correct the file, or name another one with tls.${error.setting}.`;
    return [{ status: 'problem', text: error.message, advice }];
  }
}

function certificateExpiry(expires: Date): Diagnosis {
  const text = `The certificate of the server is valid until ${expires.toISOString()}.`;
  if (expires.getTime() > Date.now() + CERTIFICATE_SOON_MS) return { status: 'ok', text };
  return { status: 'warning', text, advice: 'Renew it: the server reads the new files within 5 seconds.' };
}
