// Publishes the packages that `pack-release.js` packed into a folder, except for versions that npm has already. Each gets a
// release on GitHub with its changes, unless it has one: a run completes what an earlier one left unfinished. This runs in
// a job with rights, so it uses only Node, npm, gh and tar.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageFolders } from './pack.js';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder of the packages.');

/** The folder of each package, by its name. */
const folders = new Map(
  packageFolders().map((path) => [JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).name, path]),
);

function isPublished(name, version) {
  const { stdout } = spawnSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8' });
  return stdout.trim() === version;
}

function hasRelease(tag) {
  return spawnSync('gh', ['release', 'view', tag]).status === 0;
}

/** The changes of a version, from the changelog of its package. */
function changesOf(name, version) {
  const file = join(folders.get(name), 'CHANGELOG.md');
  const sections = existsSync(file) ? readFileSync(file, 'utf8').split(/^## /m) : [];
  const section = sections.find((text) => text.startsWith(`${version}\n`));
  return section?.slice(version.length).trim() ?? '';
}

const run = (command, ...args) => execFileSync(command, args, { stdio: 'inherit' });
const target = process.env.GITHUB_SHA ?? 'HEAD';
let published = 0;
let released = 0;
for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.tgz'))) {
  // A relative path could be the name of a package.
  const tarball = resolve(folder, file);
  const packed = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
  const { name, version } = JSON.parse(packed);
  if (!isPublished(name, version)) {
    run('npm', 'publish', tarball, '--access=public', '--provenance', '--ignore-scripts');
    published += 1;
  }
  const tag = `${name}@${version}`;
  if (!hasRelease(tag)) {
    run('gh', 'release', 'create', tag, '--title', tag, '--notes', changesOf(name, version), '--target', target);
    released += 1;
  }
}
console.log(`Published: ${published}, released on GitHub: ${released}.`);
if (process.env.GITHUB_OUTPUT) appendFileSync(process.env.GITHUB_OUTPUT, `published=${published + released > 0}\n`);
