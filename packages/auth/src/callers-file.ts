import { parse } from '@iarna/toml';
import { quoted } from '@svc/errors/internal';
import { type Caller, type Permission, PERMISSIONS } from '@svc/frames';
import * as v from 'valibot';
import { isTenant, TENANT_RULE } from './caller.ts';
import { subjectKey } from './client-certificate.ts';
import type { TenantLimits } from './tenant-limits.ts';
import { TOKEN_ID_PATTERN } from './token.ts';

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

/** A callers file that cannot be used. The message is for the operator and quotes no hash. */
export class CallersFileError extends Error {
  override readonly name = 'CallersFileError';
}

/** The largest callers file: enough for some ten thousand tokens. */
export const MAX_CALLERS_FILE_BYTES: number = 4 * 2 ** 20;

const tenant = v.pipe(v.string(TENANT_RULE), v.check(isTenant, TENANT_RULE));

const PERMISSION_RULE = `It is a list of at least one of ${PERMISSIONS.join(', ')}, each once.`;
const permissions = v.pipe(
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
  tenant,
  permissions,
  expires: v.optional(v.pipe(v.date(EXPIRES_RULE), v.check(hasZone, EXPIRES_RULE))),
  note: v.optional(v.pipe(v.string(NOTE_RULE), v.maxLength(200, NOTE_RULE))),
});

const SUBJECT_RULE = 'It is a URI, DNS name or common name of the certificate, of at most 1000 characters.';

const Certificate = v.strictObject({
  subject: v.pipe(v.string(SUBJECT_RULE), v.regex(/^[^\p{Cc}\p{Cs}]{1,1000}$/u, SUBJECT_RULE)),
  tenant,
  permissions,
});

const COUNT_RULE = 'It is a whole number from 0 to 9007199254740991, without quotes.';
const TIME_RULE = 'It is a whole number of milliseconds from 1 to 2147483647, without quotes.';
const RATE_RULE = 'It is a number from 0.001 to 1000000, without quotes.';
const count = v.optional(v.pipe(v.number(COUNT_RULE), v.safeInteger(COUNT_RULE), v.minValue(0, COUNT_RULE)));

const Tenant = v.strictObject({
  name: tenant,
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

/** TOML has times without a zone and days, which the parser marks. */
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

/** Says which entry is wrong and what would be right, without quoting its value. */
function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === 'string' || typeof key === 'number' ? key : ''));
  const [table = '', index, key] = path;
  const where = typeof index === 'number' ? `Entry ${index + 1} of [[${table}]]` : 'The file';
  const name = quoted(String(path.at(-1) ?? ''));
  if (issue.type === 'strict_object' && issue.expected === 'never') return `${where} has an unknown key ${name}.`;
  if (issue.type === 'strict_object' && path.length > 0) return `${where} has no ${name}.`;
  return `${where}${key === undefined ? '' : `: ${key}`} is not valid. ${issue.message}`;
}
