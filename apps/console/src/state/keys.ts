/** The part of a keyboard event that keys are told by. */
export type KeyPress = Pick<KeyboardEvent, 'altKey' | 'code' | 'ctrlKey' | 'key' | 'metaKey' | 'shiftKey'>;

/** A key, such as `Ctrl+Shift+Enter`: `Ctrl` is the command key on a Mac. */
interface KeySpec {
  readonly ctrl: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
  readonly key: string;
}

function parseKey(text: string): KeySpec {
  const parts = text.split('+');
  const has = (name: string): boolean => parts.slice(0, -1).includes(name);
  return { ctrl: has('Ctrl'), alt: has('Alt'), shift: has('Shift'), key: parts.at(-1) ?? '' };
}

/** Whether an event is a key. With Alt the place of a letter or digit counts: Alt makes other characters of it on a Mac. */
export function isKey(text: string, event: KeyPress, isMac: boolean): boolean {
  const { ctrl, alt, shift, key } = parseKey(text);
  const other = isMac ? event.ctrlKey : event.metaKey;
  if (ctrl !== (isMac ? event.metaKey : event.ctrlKey) || other || alt !== event.altKey) return false;
  if (alt && /^[A-Z0-9]$/.test(key)) return event.shiftKey === shift && event.code === codeOf(key);
  // Signs such as ? need Shift on some keyboards and not on others: the sign itself counts.
  const isSign = key.length === 1 && !/[a-z0-9]/i.test(key);
  return (isSign || event.shiftKey === shift) && event.key.toLowerCase() === key.toLowerCase();
}

function codeOf(key: string): string {
  return /\d/.test(key) ? `Digit${key}` : `Key${key}`;
}

/** Whether a key would type or move in a text field, so that it is not taken there. */
export function isTypingKey(text: string, isMac: boolean): boolean {
  const { ctrl, alt, key } = parseKey(text);
  if (ctrl) return false;
  return alt ? isMac && key.startsWith('Arrow') : !/^(Escape|F\d+)$/.test(key);
}

const NAMES: Readonly<Record<string, string>> = {
  Enter: '⏎',
  Escape: 'Esc',
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ' ': 'Space',
};

/** Returns a key as keyboards label it: `Ctrl K`, or `⌘K` on a Mac. */
export function keyLabel(text: string, isMac: boolean): string {
  const { ctrl, alt, shift, key } = parseKey(text);
  const name = NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  const marks = isMac
    ? [alt && '⌥', shift && '⇧', ctrl && '⌘', name]
    : [shift && '⇧', ctrl && 'Ctrl', alt && 'Alt', name];
  return marks.filter(Boolean).join(isMac ? '' : ' ');
}
