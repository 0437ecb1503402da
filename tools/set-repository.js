// Fills `repository` into the manifest of every package, from the names that GitHub gives a workflow: npm publishes
// provenance only for packages that say where they come from, and only the workflow knows that. Nothing is committed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { packageFolders, root } from './pack.js';

const { values } = parseArgs({ options: { root: { type: 'string', default: root } } });
const { GITHUB_SERVER_URL: server = '', GITHUB_REPOSITORY: repository = '' } = process.env;

/** The manifest with the repository beside its licence, where npm's own tools put it. */
function withRepository(manifest, directory) {
  const url = `git+${server}/${repository}.git`;
  return Object.fromEntries(
    Object.entries(manifest).flatMap((field) =>
      field[0] === 'license' ? [field, ['repository', { type: 'git', url, directory }]] : [field],
    ),
  );
}

if (!/^https:\/\/[\w.:-]+$/.test(server) || !/^[\w.-]+\/[\w.-]+$/.test(repository)) {
  console.error(
    `The repository is not known: GITHUB_SERVER_URL is "${server}" and GITHUB_REPOSITORY is "${repository}". ` +
      'Run this in a GitHub workflow, which sets both.',
  );
  process.exit(1);
}
for (const folder of packageFolders(values.root)) {
  const file = join(folder, 'package.json');
  const directory = relative(values.root, folder).replaceAll(sep, '/');
  const manifest = withRepository(JSON.parse(readFileSync(file, 'utf8')), directory);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
