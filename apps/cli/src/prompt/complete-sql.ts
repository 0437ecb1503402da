import type { Client } from '../client/client.ts';
import { listFrames } from '../client/requests.ts';
import type { ListedFrame } from '../client/server-responses.ts';
import { sqlName } from '../text.ts';

/** The known words. */
export interface CompletionWords {
  readonly frames: readonly Pick<ListedFrame, 'handle' | 'columns'>[];
  /** The columns of the last result. */
  readonly resultColumns: readonly string[];
  readonly commands: readonly string[];
  readonly formats: readonly string[];
}

/** The candidates for the last word, and the word. */
export type Completed = [found: string[], word: string];

const KEYWORDS =
  `all alter and anti any as asc asof between by case cast count create cross date day desc describe distinct drop else end
except exclude exists explain explode false filter first from full group having hour ilike in inner insert interval intersect
into is join lag last lateral lead left like limit max mean median min minute month natural not null nulls offset on or
order outer over partition pivot positional preceding qualify quantile rename replace right row rows sample second select semi
show stddev sum summarize table tables then time_bucket timestamp to true union unnest unpivot using values when where window with
year avg coalesce date_trunc row_number`.split(/\s+/);

/** Completes the last word of a line; `before` are the lines of the statement before it. */
export function completeSql(line: string, before: string, words: CompletionWords): Completed {
  const command = /^\s*\\(\w*)$/.exec(line);
  if (command !== null && before === '') return starting(words.commands, `\\${command[1] ?? ''}`);
  const [, name, argument = ''] = /^\s*\\(\w+)\s+(\S*)$/.exec(line) ?? [];
  if (name !== undefined && before === '') return starting(argumentsOf(name, words), argument);
  const word = /(?:"[^"]*|[\w.-]*)$/.exec(line)?.[0] ?? '';
  const isQuoted = word.startsWith('"');
  const typed = isQuoted ? word.slice(1) : word;
  const handles = words.frames.map(({ handle }) => handle);
  const text = `${before} ${line}`.toLowerCase();
  const named = words.frames.filter(({ handle }) => text.includes(handle.toLowerCase()));
  const columns = (named.length > 0 ? named : words.frames).flatMap(({ columns: known }) =>
    (known ?? []).map((one) => one.name),
  );
  const found = [...handles, ...columns].filter((one) => startsWith(one, typed));
  const names = found.map((one) => (isQuoted ? `"${one.replaceAll('"', '""')}"` : sqlName(one)));
  const isUpper = /[A-Z]/.test(typed) && typed === typed.toUpperCase();
  const keywords = isQuoted || typed === '' ? [] : KEYWORDS.filter((one) => startsWith(one, typed));
  const all = [...names, ...keywords.map((one) => (isUpper ? one.toUpperCase() : one))];
  return [[...new Set(all)].toSorted(), word];
}

function argumentsOf(command: string, { frames, resultColumns, formats }: CompletionWords): readonly string[] {
  if (command === 'd') return frames.map(({ handle }) => handle);
  if (command === 'chart') return resultColumns;
  return command === 'format' ? formats : [];
}

function starting(words: readonly string[], word: string): Completed {
  return [words.filter((one) => one.startsWith(word)), word];
}

function startsWith(word: string, typed: string): boolean {
  return word.toLowerCase().startsWith(typed.toLowerCase());
}

/** The longest acceptable wait for a Tab. */
const TIMEOUT_MS = 1000;
/** The cache is refreshed at this age. */
const FRESH_MS = 5000;

/** Creates the cache and starts to fill it: the first Tab must be fast. */
export function createKnownFrames(client: Client) {
  let frames: readonly ListedFrame[] = [];
  let atMs = 0;
  let refreshing: Promise<void> | undefined;

  function refresh(): Promise<void> {
    refreshing ??= firstPage(client)
      .then((page) => {
        frames = page;
        atMs = performance.now();
      })
      // A completion has no place to show an error.
      .catch(() => {})
      .finally(() => (refreshing = undefined));
    return refreshing;
  }
  void refresh();

  return {
    /** Returns the cached frames; refreshes stale ones first, within a short timeout. */
    async look(): Promise<readonly ListedFrame[]> {
      const isFresh = atMs > 0 && performance.now() - atMs < FRESH_MS;
      if (!isFresh) await Promise.race([refresh(), timeout()]);
      return frames;
    },
    /** Starts to fill the cache again: frames have changed. */
    refresh: () => void refresh(),
  };
}

async function firstPage(client: Client): Promise<readonly ListedFrame[]> {
  for await (const page of listFrames(client, undefined)) return page;
  return [];
}

function timeout(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS));
}
