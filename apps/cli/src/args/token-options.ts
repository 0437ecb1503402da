import { isTenant, type Permission, PERMISSIONS } from '@svc/auth';
import { TENANT_RULE } from '@svc/auth/internal';
import { CliError } from '../errors/cli-error.ts';

/** Parses the name of a tenant. */
export function parseTenant(text: string): string {
  if (isTenant(text)) return text;
  throw new CliError('usage', `--tenant ${JSON.stringify(text)} is not the name of a tenant.`, { hint: TENANT_RULE });
}

/** Parses a list of permissions: `read,write`. */
export function parsePermissions(text: string): readonly Permission[] {
  const words = text.split(',').map((word) => word.trim());
  const permissions = PERMISSIONS.filter((name) => words.includes(name));
  if (permissions.length === words.length) return permissions;
  throw new CliError('usage', `--permissions ${JSON.stringify(text)} is not a list of permissions.`, {
    hint: `Write --permissions read,write; there are ${PERMISSIONS.join(', ')}.`,
  });
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 };

/** Parses a time from now, such as `90d`, or a time with a zone. */
export function parseExpiry(text: string, nowMs: number): Date {
  const [, count, unit = ''] = /^(\d{1,4})([hdwy])$/.exec(text) ?? [];
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const time =
    count === undefined ? new Date(isTime ? text : NaN) : new Date(nowMs + Number(count) * (UNIT_MS[unit] ?? NaN));
  if (time.getTime() > nowMs && time.getUTCFullYear() <= 9999) return time;
  throw new CliError('usage', `--expires ${JSON.stringify(text)} is not a time in the future.`, {
    hint: 'Write a number of hours, days, weeks or years (12h, 90d, 4w, 1y), or a time (2027-01-01T00:00:00Z).',
  });
}
