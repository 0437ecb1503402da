/** A flag of a command line. Its name, without dashes, is the key of the map that holds it. */
export interface FlagSpec {
  /** Whether a value follows the flag. A flag without one is a switch. */
  readonly takesValue: boolean;
  /** The letter of its short form. */
  readonly short?: string | undefined;
  /** Whether the flag may be given more than once. Default: no. */
  readonly isRepeatable?: boolean | undefined;
}

/** One element of a command line. `rawName` is the flag as the user wrote it: `-o`, `--output`. */
export type FlagToken =
  | { readonly kind: 'argument'; readonly value: string }
  /** A `--`: only arguments follow. */
  | { readonly kind: 'terminator' }
  | { readonly kind: 'switch'; readonly name: string; readonly rawName: string }
  | { readonly kind: 'value'; readonly name: string; readonly rawName: string; readonly value: string }
  | { readonly kind: 'unknown'; readonly rawName: string }
  | {
      readonly kind: 'missing_value' | 'unwanted_value' | 'repeated';
      readonly name: string;
      readonly rawName: string;
    };

/**
 * Parses `--flag value`, `--flag=value`, `-f value`, `-fvalue` and groups of switches (`-ab`). A faulty flag becomes a
 * token too, and parsing continues after it. The value of an unknown flag is dropped: it may be a secret.
 */
export function parseFlags(argv: readonly string[], flags: ReadonlyMap<string, FlagSpec>): readonly FlagToken[] {
  const tokens: FlagToken[] = [];
  const seen = new Set<string>();
  const words = [...argv];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      tokens.push({ kind: 'terminator' }, ...words.splice(0).map(toArgument));
    } else if (!word.startsWith('-') || word === '-') {
      tokens.push(toArgument(word));
    } else {
      for (const flag of splitWord(word, flags)) {
        const token = toToken(flag, flags.get(flag.name), words);
        const isRepeated = isGiven(token) && seen.has(token.name) && flags.get(token.name)?.isRepeatable !== true;
        tokens.push(isRepeated ? { kind: 'repeated', name: token.name, rawName: token.rawName } : token);
        if (isGiven(token)) seen.add(token.name);
      }
    }
  }
  return tokens;
}

function toArgument(value: string): FlagToken {
  return { kind: 'argument', value };
}

function isGiven(token: FlagToken): token is FlagToken & { readonly kind: 'switch' | 'value' } {
  return token.kind === 'switch' || token.kind === 'value';
}

/** Takes the value of the flag from the words after it if it is not inline. */
function toToken({ name, rawName, inline }: SplitFlag, flag: FlagSpec | undefined, words: string[]): FlagToken {
  if (flag?.takesValue === false) {
    return inline === undefined ? { kind: 'switch', name, rawName } : { kind: 'unwanted_value', name, rawName };
  }
  const value = inline ?? takeValue(words);
  if (flag === undefined) return { kind: 'unknown', rawName };
  return value === undefined ? { kind: 'missing_value', name, rawName } : { kind: 'value', name, rawName, value };
}

interface SplitFlag {
  readonly name: string;
  readonly rawName: string;
  /** The value in the same word. */
  readonly inline?: string;
}

function splitWord(word: string, flags: ReadonlyMap<string, FlagSpec>): readonly SplitFlag[] {
  const [rawName, inline] = splitAtEquals(word);
  const whole = { rawName, ...(inline !== undefined && { inline }) };
  if (word.startsWith('--')) return [{ name: rawName.slice(2), ...whole }];
  const group: SplitFlag[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    const [name, flag] = [...flags].find(([, { short }]) => short === letter) ?? [];
    // One unknown letter makes the word unknown: -port is a mistyped --port and not -p, -o, -r, -t.
    if (name === undefined || flag === undefined) return [{ name: rawName, ...whole }];
    const rest = word.slice(at + 1);
    const one = { name, rawName: `-${letter}` };
    if (flag.takesValue) return [...group, { ...one, ...(rest !== '' && { inline: rest }) }];
    if (rest.startsWith('=')) return [...group, { ...one, inline: rest.slice(1) }];
    group.push(one);
  }
  return group;
}

function splitAtEquals(word: string): readonly [name: string, value: string | undefined] {
  const at = word.indexOf('=');
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** The next word, unless it is a flag. A negative number is a value, so that an error can be about the number. */
function takeValue(words: string[]): string | undefined {
  const [next] = words;
  return next === undefined || /^-(?!\.?\d|$)/.test(next) ? undefined : words.shift();
}
