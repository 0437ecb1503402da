import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this checkout. */
export const root = fileURLToPath(new URL('..', import.meta.url));
/** The text of a file. */
export const read = (path: string): string => readFileSync(join(root, path), 'utf8');
/** The names in a folder, sorted. */
export const namesIn = (folder: string): string[] => readdirSync(join(root, folder)).toSorted();
const markdownIn = (folder: string): string[] =>
  namesIn(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** The folders of the packages. */
export const packageFolders = [
  ...['packages', 'apps'].flatMap((parent) => namesIn(parent).map((name) => join(parent, name))),
  'proto',
];
/** The pages whose commands are run. */
export const pages = ['README.md', ...markdownIn('docs'), 'apps/cli/README.md'];
/** All pages. */
export const allPages = [
  ...markdownIn('.'),
  ...markdownIn('docs'),
  ...markdownIn('interop'),
  ...packageFolders.flatMap(markdownIn),
];

/** The pages whose commands are run in the fast tier, too. */
export const FIRST_PAGES = ['README.md', 'docs/start.md'];
