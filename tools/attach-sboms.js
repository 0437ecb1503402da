// Attaches the SBOM of each program, `server.cdx.json` and `cli.cdx.json` in a folder, to its release on GitHub, after the
// release workflow has published. With --dry-run it prints the commands instead. Needs the command gh, and GH_TOKEN.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, temporaryDirectory } from './pack.js';

const words = process.argv.slice(2);
const isDryRun = words.includes('--dry-run');
const folder = words.find((word) => word !== '--dry-run');
if (folder === undefined) throw new Error('Name the folder of the SBOMs.');
const directory = temporaryDirectory();

for (const app of ['server', 'cli']) {
  const { name, version } = JSON.parse(readFileSync(join(root, 'apps', app, 'package.json'), 'utf8'));
  const file = join(directory, `svc-${app}-${version}.cdx.json`);
  copyFileSync(join(folder, `${app}.cdx.json`), file);
  const { metadata } = JSON.parse(readFileSync(file, 'utf8'));
  // The build of this very version must have written it.
  if (metadata.component.version !== version) throw new Error(`The SBOM of ${name} is that of another version.`);
  const args = ['release', 'upload', `${name}@${version}`, file, '--clobber'];
  if (isDryRun) console.log(['gh', ...args].join(' '));
  else execFileSync('gh', args, { stdio: 'inherit' });
}
