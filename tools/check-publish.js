// Publishes every package for a trial, as the release workflow would: with the repository filled in, and with npm's
// `--dry-run`, which sends nothing.
import { strict as assert } from 'node:assert';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pack, packageFolders, root, temporaryDirectory } from './pack.js';

/** Where a workflow of a repository with this name would run. */
const WORKFLOW = { GITHUB_SERVER_URL: 'https://github.example', GITHUB_REPOSITORY: 'owner/name' };

const directory = temporaryDirectory();
const copy = join(directory, 'copy');

/** The package as it is packed, unpacked at its place in a copy of this repository. */
function unpack(folder) {
  const target = join(copy, relative(root, folder));
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', pack(folder, directory).tarball, '-C', target, '--strip-components=1']);
  return target;
}

function publish(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  assert.deepEqual(manifest.repository, {
    type: 'git',
    url: 'git+https://github.example/owner/name.git',
    directory: relative(copy, folder),
  });
  // Without a tag, npm asks the registry for the latest version. `npm run --silent` silences this npm too.
  const args = ['publish', '--dry-run', '--ignore-scripts', '--access=public', '--tag=trial', '--loglevel=notice'];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, `npm does not publish ${manifest.name}:\n${stderr}`);
  assert(stdout.includes(`+ ${manifest.name}@${manifest.version}`), `npm says:\n${stdout}${stderr}`);
  assert(!stderr.includes('auto-corrected'), `npm corrects the manifest of ${manifest.name}:\n${stderr}`);
}

try {
  const folders = packageFolders().map(unpack);
  const script = fileURLToPath(new URL('set-repository.js', import.meta.url));
  execFileSync(process.execPath, [script, '--root', copy], { env: { ...process.env, ...WORKFLOW } });
  for (const folder of folders) publish(folder);
  console.log(`${folders.length} packages could be published: npm's dry run takes them as they are.`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
