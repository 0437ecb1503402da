// The structure inside the packages as a test: no import cycle, and folders that import only downward.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The folders of `src` from the top down. A file imports from its own folder and from folders further down; `.` are the
 * files of `src` itself, without the entry points, which may import everything.
 */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'packages/client': ['.', 'http', 'json'],
  'packages/duckdb': ['sql', 'store', 'files', 'child-link', 'types', 'disk', 'child', 'wire'],
  'packages/frames': ['internal', 'memory-store', 'insert', 'encode', 'decode', 'columns', '.', 'statements'],
  'apps/console': ['panes', 'query', 'editor', 'chart', 'grid', 'widgets', 'state', 'rows', 'api'],
  'apps/cli': ['commands', 'doctor', 'prompt', 'frames', 'args', 'output', 'client', '.'],
};

/** Files at the top of `src` that start or export everything. */
const ENTRY_POINTS = new Set(['index.ts', 'internal.ts', 'main.ts', 'main.tsx', 'run-cli.ts']);

const folders = ['packages', 'apps'].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => join(parent, name)),
);
const sources = [...folders, 'proto']
  .map((folder) => join(folder, 'src'))
  .filter((folder) => existsSync(join(root, folder)))
  .flatMap(sourcesUnder);

function sourcesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourcesUnder(path);
    return /\.tsx?$/.test(path) && !path.endsWith('.test.ts') ? [path] : [];
  });
}

/** The files of the same package that a file imports, also those of which it imports only types. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const found = text.matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+\.tsx?)'/g);
  return [...found].map((match) => normalize(join(dirname(path), match[1] ?? '')));
}

/** The first cycle that a depth-first search finds, as the files on it. */
function findCycle(paths: readonly string[]): string[] {
  const done = new Set<string>();
  const onPath: string[] = [];
  function visit(path: string): string[] | undefined {
    if (onPath.includes(path)) return [...onPath.slice(onPath.indexOf(path)), path];
    if (done.has(path)) return undefined;
    onPath.push(path);
    for (const imported of importsOf(path)) {
      const cycle = visit(imported);
      if (cycle !== undefined) return cycle;
    }
    onPath.pop();
    done.add(path);
    return undefined;
  }
  for (const path of paths) {
    const cycle = visit(path);
    if (cycle !== undefined) return cycle;
  }
  return [];
}

test.each([...folders, 'proto'])('%s has no import cycle, types included', (folder) => {
  expect(findCycle(sources.filter((path) => path.startsWith(`${folder}/`)))).toEqual([]);
});

describe.each(Object.entries(FOLDERS))('the folders of %s', (folder, order) => {
  const src = join(folder, 'src');
  const own = sources.filter((path) => path.startsWith(`${src}/`));
  const folderOf = (path: string): string => relative(src, path).split('/').slice(0, -1)[0] ?? '.';
  const isChecked = (path: string): boolean =>
    folderOf(path) !== 'testing' && !(folderOf(path) === '.' && ENTRY_POINTS.has(relative(src, path)));

  test('are all in the order', () => {
    const found = new Set(own.filter(isChecked).map(folderOf));
    expect([...found].toSorted()).toEqual([...order].toSorted());
  });

  test('import only downward', () => {
    const upward = own
      .filter(isChecked)
      .flatMap((path) => importsOf(path).map((imported) => ({ path, imported })))
      .filter(({ path, imported }) => order.indexOf(folderOf(imported)) < order.indexOf(folderOf(path)))
      .map(({ path, imported }) => `${path} imports ${imported}`);
    expect(upward).toEqual([]);
  });
});

test('the program of a child imports wire/ alone, and nothing imports it', () => {
  const child = 'packages/duckdb/src/child/';
  const wrong = sources
    .filter((path) => path.startsWith('packages/duckdb/src/'))
    .flatMap((path) => importsOf(path).map((imported) => ({ path, imported })))
    .filter(({ path, imported }) =>
      path.startsWith(child)
        ? !imported.startsWith(child) && !imported.startsWith('packages/duckdb/src/wire/')
        : imported.startsWith(child),
    )
    .map(({ path, imported }) => `${path} imports ${imported}`);
  expect(wrong).toEqual([]);
});
