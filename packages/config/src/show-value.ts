import type { Setting } from './setting.ts';

const MAX_SHOWN = 100;

/** Formats a refused value for a message: text in quotes, truncated if long, without credentials. */
export function showValue(value: unknown, { secret, type }: Setting): string {
  if (secret === true) return '***';
  const shown = type.redact?.(describe(value)) ?? describe(value);
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return 'a date or time';
  if (!Array.isArray(value)) return 'a table';
  return `[${value.slice(0, MAX_SHOWN).map(describe).join(', ')}]`;
}
