import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** Something the user can do now. The palette lists it, its key runs it, the help explains the key. */
export interface Command {
  /** A constant name, such as `query.run`. */
  readonly id: string;
  /** What it does, in the imperative: `Run the statement at the cursor`. */
  readonly title: string;
  /** The key, such as `Ctrl+Enter`, `Alt+T` or `k`. A single letter works only outside of text fields. */
  readonly key?: string;
  /** The help shows the commands of a group together. */
  readonly group: 'Go to' | 'Tabs' | 'Query' | 'Rows' | 'Frame' | 'Console';
  /** False: only the key runs it, and the palette does not list it. Default: true. */
  readonly isListed?: boolean;
  /** False: there was nothing to do, and the browser gets the key. */
  readonly run: () => void | false;
}

/** The commands of the page. */
export interface Commands {
  readonly all: ReadonlySignal<readonly Command[]>;
  /** Adds commands, and returns the function to remove them. Of two with one key, the later wins. */
  add(commands: readonly Command[]): () => void;
}

export function createCommands(): Commands {
  const groups = signal<readonly (readonly Command[])[]>([]);
  return {
    all: computed(() => groups.value.flat()),
    add(commands) {
      groups.value = [...groups.peek(), commands];
      return () => {
        groups.value = groups.peek().filter((group) => group !== commands);
      };
    },
  };
}

/** The part of a keyboard event behind a key. */
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

/** True if an event is a key. With Alt the place of a letter or digit counts: Alt makes other characters of it on a Mac. */
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

/** True if a key types or moves in a text field: there it is no command. */
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
