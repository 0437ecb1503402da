import type { Setting } from './setting.ts';

/** The default of a setting in a few words, in Markdown; undefined when it stays unset. */
export function describeDefault({ type, default: value, derived }: Setting): string | undefined {
  if (derived !== undefined) return derived.describe;
  return value === undefined ? undefined : `\`${type.toText(value)}\``;
}

/** What a setting is for, which values it takes, and what else there is to know, in sentences. */
export function describeSetting({ description, type, secret }: Setting): string {
  const sentences = [description, `Value: ${type.expected}.`];
  if (secret === true) sentences.push('Secret: it is never printed.');
  return sentences.join(' ');
}
