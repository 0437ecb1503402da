import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { createFrameLog } from '../store/log/frame-log.ts';

/** A rule of the protocol of the log, and the text without which it does not hold. */
export interface Mutant {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

const CREATED = 'isSent = true;\n                return';

/** The first worlds find these. */
export const PLAIN_MUTANTS: readonly Mutant[] = [
  { name: 'an existing name is a lost race', from: CREATED, to: `if (!isCreated) return false;\n${CREATED}` },
  { name: 'a created name is a success', from: CREATED, to: `if (isCreated) return true;\n${CREATED}` },
  {
    name: 'no answer is a success',
    from: '// Nothing was written, now or before.',
    to: 'if (error instanceof OutcomeUnknown) return true;',
  },
  {
    name: 'no answer is a failure',
    from: 'throw new OutcomeUnknown(key, error)',
    to: "throw new ServiceError('unavailable', '')",
  },
  { name: 'a refusal undoes what was sent before', from: ' && !isSent', to: '' },
  { name: 'entries remember none before them', from: 'newest.recent.includes(id)', to: 'false' },
  { name: 'a removed entry can be the newest', from: '!hasNext && (await isThere(last, signal))', to: '!hasNext' },
  { name: 'the next number need not be absent', from: '!hasNext && ', to: '' },
  {
    name: 'the next entry is no stray',
    from: 'next === undefined || !(await isThere(last, signal))',
    to: 'next === undefined',
  },
  { name: 'the next entry is the newest', from: '(await isAt(next, signal))', to: '(await isThere(next, signal))' },
  { name: 'newer entries are removed first', from: 'old.map(', to: 'old.reverse().map(' },
  { name: 'the newest entry can be removed', from: '.slice(0, -keep)', to: '' },
];

/** These need a process that sleeps at the wrong moment: one world of hundreds. */
export const RARE_MUTANTS: readonly Mutant[] = [
  {
    name: 'any entry before will do',
    from: '(await entries.isThere(before))',
    to: '(await entries.tagOf(number - 1)) !== undefined',
  },
  { name: 'any entry with the number will do', from: '(await tagOf(number, signal)) === tag', to: 'true' },
  {
    name: 'the number 0 is used once',
    from: 'before !== undefined && (await entries.isThere(before))',
    to: '(before === undefined || (await entries.isThere(before)))',
  },
  { name: 'a list is a read', from: 'found !== undefined && greatest === number', to: 'found !== undefined' },
  {
    name: 'the next entry need not be there',
    from: '(await isAt(next, signal))',
    to: '(await tagOf(number + 2, signal)) === undefined',
  },
];

const SOURCE = fileURLToPath(new URL('../../dist/store/log/frame-log.js', import.meta.url));
/** From here, the packages that the log imports are found. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));

/** Loads the log with one rule broken. */
export async function loadMutant({ name, from, to }: Mutant): Promise<typeof createFrameLog> {
  const text = await readFile(SOURCE, 'utf8');
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`The log has ${parts.length - 1} places to break: ${name}`);
  await mkdir(FOLDER, { recursive: true });
  const path = `${FOLDER}frame-log-${name.replaceAll(' ', '-')}-${process.pid}.mjs`;
  await writeFile(path, parts.join(to));
  try {
    const mutant: { createFrameLog: typeof createFrameLog } = await import(pathToFileURL(path).href);
    return mutant.createFrameLog;
  } finally {
    await rm(path);
  }
}
