import type { Setting } from './setting.ts';

/** Describes the default of a setting, in Markdown; undefined if it has none. */
export function describeDefault({ type, default: value, derived }: Setting): string | undefined {
  if (derived !== undefined) return derived.describe;
  return value === undefined ? undefined : `\`${type.toText(value)}\``;
}

/** Describes the purpose and the valid values of a setting, in sentences. */
export function describeSetting({ description, type, secret }: Setting): string {
  const sentences = [description, `Value: ${type.expected}.`];
  if (secret === true) sentences.push('Secret: it is never printed.');
  return sentences.join(' ');
}
