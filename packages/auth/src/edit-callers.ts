import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { quoted } from '@svc/errors/internal';
import type { Permission } from '@svc/frames';
import { loadCallers } from './authenticator.ts';
import { type Callers, CallersFileError, MAX_CALLERS_FILE_BYTES, parseCallers } from './callers-file.ts';
import { FileError, readTextFile } from './read-text-file.ts';
import { createToken, formatToken, hashSecret } from './token.ts';

/** The caller of a new token. */
export interface NewToken {
  readonly tenant: string;
  readonly permissions: readonly Permission[];
  readonly expires?: Date | undefined;
  readonly note?: string | undefined;
}

const HEADER = '# The callers of a data-frame server: hashes of tokens, with tenants and permissions.\n';

/**
 * Adds a token to a callers file, which is created if it is missing. Returns the token: the file has only its hash.
 * Comments in the file stay. The file is replaced by a rename.
 */
export async function addToken(path: string, token: NewToken): Promise<string> {
  const { tokens } = await loadCallersIfThere(path);
  let created = createToken();
  while (tokens.has(created.id)) created = createToken();
  const { tenant, permissions, expires, note } = token;
  const row = [
    '[[token]]',
    `id = ${JSON.stringify(created.id)}`,
    `hash = ${JSON.stringify(hashSecret(created.secret))}`,
    `tenant = ${JSON.stringify(tenant)}`,
    `permissions = [${permissions.map((name) => JSON.stringify(name)).join(', ')}]`,
    ...(expires === undefined ? [] : [`expires = ${expires.toISOString()}`]),
    ...(note === undefined ? [] : [`note = ${JSON.stringify(note)}`]),
  ].join('\n');
  await changeFile(path, (text) => {
    const changed = `${text.trimEnd()}${text.trim() === '' ? HEADER : '\n'}\n${row}\n`;
    if (!parseCallers(changed).tokens.has(created.id)) throw new Error('The new token is not in the file.');
    return changed;
  });
  return formatToken(created);
}

/** Removes a token from a callers file. Throws `CallersFileError` if it is not there. */
export async function removeToken(path: string, id: string): Promise<void> {
  const { tokens } = await loadCallers(path);
  if (!tokens.has(id))
    throw new CallersFileError(`The callers file ${JSON.stringify(path)} has no token ${quoted(id)}.`);
  await changeFile(path, (text) => withoutToken(text, id));
}

async function loadCallersIfThere(path: string): Promise<Callers> {
  return (await stat(path).catch(() => undefined)) === undefined ? parseCallers('') : loadCallers(path);
}

/** The start of a table: its header, or the first of the comment lines directly above it. */
const TABLE_START = /(?<!^[ \t]*#.*\n)^(?=(?:[ \t]*#.*\n)*[ \t]*\[)/m;

/** Returns the text without the table of a token and the comments directly above it. The other lines stay as they are. */
function withoutToken(text: string, id: string): string {
  const tables = text.split(TABLE_START);
  const kept = tables.filter((table) => !isTokenTable(table, id)).join('');
  const before = [...parseCallers(text).tokens.keys()].filter((other) => other !== id);
  const after = [...parseCallers(kept).tokens.keys()];
  if (before.join() === after.join()) return kept;
  throw new CallersFileError(`The token ${quoted(id)} cannot be cut out of the file: remove its lines by hand.`);
}

function isTokenTable(table: string, id: string): boolean {
  if (!/^(?:[ \t]*#.*\n)*[ \t]*\[\[\s*token\s*\]\]/.test(table)) return false;
  try {
    return parseCallers(table).tokens.has(id);
  } catch {
    return false;
  }
}

const NEW_FILE_MODE = 0o600;

/** Replaces a file by a rename, with its owner and mode. The new file beside it also keeps other editors out. */
async function changeFile(path: string, change: (text: string) => string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const beside = `${target}.new`;
  const file = await open(beside, 'wx', NEW_FILE_MODE).catch((error: unknown) => {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!isTaken) throw error;
    throw new CallersFileError(
      `Another process is changing the callers file. If not, remove ${JSON.stringify(beside)} and try again.`,
    );
  });
  try {
    const old = await stat(target).catch(() => undefined);
    await file.writeFile(change(old === undefined ? '' : await readTextFile(target, MAX_CALLERS_FILE_BYTES)));
    if (old !== undefined) {
      await file.chmod(old.mode & 0o777);
      // Only a superuser can give a file away; then the server's user must stay its owner.
      await file.chown(old.uid, old.gid).catch(() => undefined);
    }
    await file.sync();
    await file.close();
    await rename(beside, target);
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(beside).catch(() => undefined);
    throw error instanceof FileError ? new CallersFileError(error.message, { cause: error }) : error;
  }
}
