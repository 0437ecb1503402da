// Packs every package into a folder, for `publish-release.js`.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { pack, packageFolders } from './pack.js';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('Name the folder for the packages.');
const folder = resolve(target);
mkdirSync(folder, { recursive: true });
for (const { manifest } of packageFolders().map((one) => pack(one, folder))) {
  console.log(`${manifest.name}@${manifest.version}`);
}
