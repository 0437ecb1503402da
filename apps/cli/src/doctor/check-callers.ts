import { stat } from 'node:fs/promises';
import { type Callers, CallersFileError, loadCallers } from '@svc/auth';
import type { Config } from '@svc/config';
import { formatCount } from '../text/display-text.ts';
import type { Diagnosis } from './diagnosis.ts';

const SOON_MS = 14 * 86_400_000;
/** Writable by the group or by others. */
const FOREIGN_WRITE = 0o022;

/** Checks the callers file: whether the server can use it, who can change it, and which tokens expire. */
export async function checkCallers({ auth }: Config): Promise<readonly Diagnosis[]> {
  const path = auth.callers_file;
  if (path === undefined) return [];
  try {
    const callers = await loadCallers(path);
    return [...(await modeWarnings(path)), expiryOf(callers)];
  } catch (error) {
    if (!(error instanceof CallersFileError)) throw error;
    const advice = 'Correct the file, or name another one with auth.callers_file.';
    return [{ status: 'problem', text: error.message, advice }];
  }
}

async function modeWarnings(path: string): Promise<readonly Diagnosis[]> {
  const { mode } = await stat(path);
  if ((mode & FOREIGN_WRITE) === 0 || process.platform === 'win32') return [];
  const text = `Other users can change the callers file ${JSON.stringify(path)}, and so add callers.`;
  return [{ status: 'warning', text, advice: 'Run chmod go-w on it.' }];
}

function expiryOf({ tokens }: Callers): Diagnosis {
  const count = `The callers file has ${formatCount(tokens.size, 'token')}`;
  const ending = [...tokens.values()].filter(({ expires }) => (expires?.getTime() ?? Infinity) < Date.now() + SOON_MS);
  if (ending.length === 0) return { status: 'ok', text: `${count}.` };
  const ids = ending.map(({ id, expires }) => `${id} (${expires?.toISOString().slice(0, 10)})`);
  return {
    status: 'warning',
    text: `${count}; these expire within 14 days or have expired: ${ids.join(', ')}.`,
    advice: 'Create new ones with svc token create, and revoke the old ones.',
  };
}
