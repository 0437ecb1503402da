import { hash as hashOf, randomBytes, randomInt } from 'node:crypto';
import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { parse } from '@iarna/toml';
import { quoted } from '@svc/errors/internal';
import { type Caller, type Permission, PERMISSIONS } from '@svc/frames';
import * as v from 'valibot';
import { isTenant, subjectKey, TENANT_RULE } from './credentials.ts';
import { FileError, readTextFile } from './watch-files.ts';

/** A token: `svc_`, its id, `_` and its secret. */
export interface Token {
  /** 8 characters. Not a secret: it names the token in the callers file and in the log. */
  readonly id: string;
  /** 256 random bits as 43 characters of base64url. */
  readonly secret: string;
}

/** The form of the id of a token. */
const TOKEN_ID_PATTERN: RegExp = /^[a-z0-9-]{8}$/;

const PREFIX = 'svc_';
const ID_END = PREFIX.length + 8;
const TOKEN_LENGTH = ID_END + 1 + 43;
const SECRET_BYTES = 32;
/** Without look-alike letters and digits. */
const ID_CHARACTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const RANDOM_ID_LENGTH = 6;

/** Creates a random token. */
export function createToken(): Token {
  const characters = Array.from({ length: RANDOM_ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]);
  return { id: `t-${characters.join('')}`, secret: randomBytes(SECRET_BYTES).toString('base64url') };
}

/** Returns the text of a token, as clients send it. */
export function formatToken({ id, secret }: Token): string {
  return `svc_${id}_${secret}`;
}

/**
 * Parses the text of a token; undefined if it is not one. It does not check the characters: a wrong one has no hash in the
 * callers file. No regular expression, because every request comes by here.
 */
export function parseToken(text: string): Token | undefined {
  if (text.length !== TOKEN_LENGTH || !text.startsWith(PREFIX) || text[ID_END] !== '_') return undefined;
  return { id: text.slice(PREFIX.length, ID_END), secret: text.slice(ID_END + 1) };
}

/** Returns the hash of a secret as the callers file has it. The secret is random: it needs no salt and no slow hash. */
export function hashSecret(secret: string): string {
  return `sha256:${hashOf('sha256', secret, 'hex')}`;
}

/** True if a secret has this hash. Compares all bytes, in constant time. */
export function hasHash(secret: string, expected: Uint8Array): boolean {
  // A text, not a buffer for `timingSafeEqual`: creating a buffer costs a request more than the hash.
  const digest = hashOf('sha256', secret, 'binary');
  let difference = digest.length ^ expected.length;
  for (let i = 0; i < digest.length; i++) difference |= digest.charCodeAt(i) ^ (expected[i] ?? 0);
  return difference === 0;
}

/** A token of the callers file: who sends it, and the hash of its secret. */
export interface TokenCaller extends Caller {
  /** The SHA-256 of the secret. */
  readonly hash: Uint8Array;
  /** Undefined: it does not expire. */
  readonly expires: Date | undefined;
  readonly note: string | undefined;
}

/** The content of a callers file. */
export interface Callers {
  /** By id. */
  readonly tokens: ReadonlyMap<string, TokenCaller>;
  /** The callers of client certificates, by subject in the form of `subjectKey`. */
  readonly certificates: ReadonlyMap<string, Caller>;
  /** The limits of tenants, by name. */
  readonly limits: ReadonlyMap<string, TenantLimits>;
}

/** An unusable callers file. The message is for the operator and quotes no hash. */
export class CallersFileError extends Error {
  override readonly name = 'CallersFileError';
}

/** The largest callers file: enough for some ten thousand tokens. */
const MAX_CALLERS_FILE_BYTES: number = 4 * 2 ** 20;

const Name = v.pipe(v.string(TENANT_RULE), v.check(isTenant, TENANT_RULE));

const PERMISSION_RULE = `It is a list of at least one of ${PERMISSIONS.join(', ')}, each once.`;
const Permissions = v.pipe(
  v.array(v.picklist(PERMISSIONS, PERMISSION_RULE), PERMISSION_RULE),
  v.minLength(1, PERMISSION_RULE),
  v.check((names) => new Set(names).size === names.length, PERMISSION_RULE),
);

const ID_RULE = 'It is the 8 characters of the token between svc_ and the next underscore.';
const HASH_RULE = 'It is "sha256:" and the 64 hexadecimal digits of the hash of the secret.';
const EXPIRES_RULE = 'It is a time with a zone, such as 2027-01-01T00:00:00Z, without quotes.';
const NOTE_RULE = 'It is a text of at most 200 characters.';

const Token = v.strictObject({
  id: v.pipe(v.string(ID_RULE), v.regex(TOKEN_ID_PATTERN, ID_RULE)),
  hash: v.pipe(v.string(HASH_RULE), v.regex(/^sha256:[0-9a-f]{64}$/, HASH_RULE)),
  tenant: Name,
  permissions: Permissions,
  expires: v.optional(v.pipe(v.date(EXPIRES_RULE), v.check(hasZone, EXPIRES_RULE))),
  note: v.optional(v.pipe(v.string(NOTE_RULE), v.maxLength(200, NOTE_RULE))),
});

const SUBJECT_RULE = 'It is a URI, DNS name or common name of the certificate, of at most 1000 characters.';

const Certificate = v.strictObject({
  subject: v.pipe(v.string(SUBJECT_RULE), v.regex(/^[^\p{Cc}\p{Cs}]{1,1000}$/u, SUBJECT_RULE)),
  tenant: Name,
  permissions: Permissions,
});

const COUNT_RULE = 'It is a whole number from 0 to 9007199254740991, without quotes.';
const TIME_RULE = 'It is a whole number of milliseconds from 1 to 2147483647, without quotes.';
const RATE_RULE = 'It is a number from 0.001 to 1000000, without quotes.';
const count = v.optional(v.pipe(v.number(COUNT_RULE), v.safeInteger(COUNT_RULE), v.minValue(0, COUNT_RULE)));

const Tenant = v.strictObject({
  name: Name,
  max_bytes: count,
  max_frames: count,
  max_queries: count,
  max_result_ms: v.optional(
    v.pipe(v.number(TIME_RULE), v.safeInteger(TIME_RULE), v.minValue(1, TIME_RULE), v.maxValue(2 ** 31 - 1, TIME_RULE)),
  ),
  max_result_bytes: count,
  requests_per_second: v.optional(
    v.pipe(v.number(RATE_RULE), v.minValue(0.001, RATE_RULE), v.maxValue(1_000_000, RATE_RULE)),
  ),
});

const CallersTable = v.strictObject({
  token: v.optional(v.array(Token, 'Write [[token]] above each token.'), []),
  certificate: v.optional(v.array(Certificate, 'Write [[certificate]] above each certificate.'), []),
  tenant: v.optional(v.array(Tenant, 'Write [[tenant]] above the limits of each tenant.'), []),
});

/** Parses the text of a callers file. Throws `CallersFileError` if any part of it is not valid. */
export function parseCallers(text: string): Callers {
  const parsed = v.safeParse(CallersTable, parseToml(text));
  if (!parsed.success) throw new CallersFileError(describeIssue(parsed.issues[0]));
  const tokens = new Map<string, TokenCaller>();
  for (const row of parsed.output.token) {
    if (tokens.has(row.id)) throw new CallersFileError(`There are two tokens with the id ${quoted(row.id)}.`);
    tokens.set(row.id, tokenCaller(row));
  }
  const { certificate, tenant: limited } = parsed.output;
  return { tokens, certificates: certificateCallers(certificate), limits: limitsOf(limited) };
}

function certificateCallers(rows: readonly v.InferOutput<typeof Certificate>[]): ReadonlyMap<string, Caller> {
  const callers = new Map<string, Caller>();
  for (const { subject, tenant: name, permissions: granted } of rows) {
    const key = subjectKey(subject);
    if (callers.has(key)) throw new CallersFileError(`There are two certificates with the subject ${quoted(subject)}.`);
    callers.set(key, { id: subject, tenant: name, permissions: new Set<Permission>(granted) });
  }
  return callers;
}

function limitsOf(rows: readonly v.InferOutput<typeof Tenant>[]): ReadonlyMap<string, TenantLimits> {
  const limits = new Map<string, TenantLimits>();
  for (const row of rows) {
    if (limits.has(row.name))
      throw new CallersFileError(`The limits of the tenant ${quoted(row.name)} are given twice.`);
    limits.set(row.name, {
      maxBytes: row.max_bytes,
      maxFrames: row.max_frames,
      maxQueries: row.max_queries,
      maxResultMs: row.max_result_ms,
      maxResultBytes: row.max_result_bytes,
      requestsPerSecond: row.requests_per_second,
    });
  }
  return limits;
}

function tokenCaller({ id, hash, tenant: name, permissions: granted, expires, note }: TokenRow): TokenCaller {
  return {
    id,
    tenant: name,
    permissions: new Set<Permission>(granted),
    hash: Buffer.from(hash.slice(hash.indexOf(':') + 1), 'hex'),
    expires,
    note,
  };
}

type TokenRow = v.InferOutput<typeof Token>;

/** TOML has times without a zone, and days. The parser marks them. */
function hasZone(time: Date): boolean {
  return !('isFloating' in time) && !('isDate' in time) && !Number.isNaN(time.getTime());
}

function parseToml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    // Only the position: the parser's message quotes the lines around it.
    const at = v.is(v.object({ line: v.number() }), error) ? `: the error is in line ${error.line + 1}` : '';
    throw new CallersFileError(`It is not TOML${at}.`);
  }
}

/** Names the wrong entry and what would be right, without quoting its value. */
function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === 'string' || typeof key === 'number' ? key : ''));
  const [table = '', index, key] = path;
  const where = typeof index === 'number' ? `Entry ${index + 1} of [[${table}]]` : 'The file';
  const name = quoted(String(path.at(-1) ?? ''));
  if (issue.type === 'strict_object' && issue.expected === 'never') return `${where} has an unknown key ${name}.`;
  if (issue.type === 'strict_object' && path.length > 0) return `${where} has no ${name}.`;
  return `${where}${key === undefined ? '' : `: ${key}`} is not valid. ${issue.message}`;
}

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

/** The limits of a tenant. What is undefined is not limited. */
export interface TenantLimits {
  /** The bytes of its frames on disk. */
  readonly maxBytes?: number | undefined;
  /** The number of its frames. */
  readonly maxFrames?: number | undefined;
  /** The number of its running SQL statements. */
  readonly maxQueries?: number | undefined;
  /** How long the result of a statement may be read, from its first rows, in milliseconds. */
  readonly maxResultMs?: number | undefined;
  /** The bytes of the result of a statement. */
  readonly maxResultBytes?: number | undefined;
  /** The rate of its requests; the burst is one second's worth, and at least one request. */
  readonly requestsPerSecond?: number | undefined;
}

/** Reads and parses a callers file. Throws `CallersFileError`, with the path in its message. */
export async function loadCallers(path: string): Promise<Callers> {
  try {
    return parseCallers(await readTextFile(path, MAX_CALLERS_FILE_BYTES));
  } catch (error) {
    if (!(error instanceof CallersFileError || error instanceof FileError)) throw error;
    throw new CallersFileError(`The callers file ${JSON.stringify(path)} cannot be used. ${error.message}`, {
      cause: error,
    });
  }
}
