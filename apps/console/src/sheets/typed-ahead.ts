import type { AppState } from '../state/app-state.ts';

/** Returns the keys that were pressed before the sheet was there, and forgets them. */
export function takeTypedAhead({ typedAhead }: AppState): readonly string[] {
  const keys = typedAhead.peek();
  typedAhead.value = [];
  return keys;
}

/** Returns a text after a key: a letter, or Backspace. Other keys do not change it. */
export function textAfter(text: string, key: string): string {
  if (key === 'Backspace') return text.replace(/.$/u, '');
  return /^.$/u.test(key) ? text + key : text;
}
