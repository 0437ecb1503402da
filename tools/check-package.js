// Run in a package folder: packs it as for publishing and checks the tarball a user would get.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { pack, root, temporaryDirectory } from './pack.js';

const folder = process.cwd();
const { tarball, bytes, manifest, files } = pack(folder, temporaryDirectory());

function unexpectedFiles() {
  const expected =
    /^(package\.json|README\.md|LICENSE|bin\/([\w-]+\.js|package\.json)|bundle\/([\w-]+\.cjs|web-[\w-]+\.(css|html|js)|web-console\/([\w.-]+\.(css|html|js|svg)\.br|NOTICES\.txt)|NOTICES\.txt|sbom\.cdx\.json)|dist\/[\w/.-]+(\.js|\.d\.ts)(\.map)?|src\/[\w/-]+\.ts|web\/([\w-]+\.(css|html|js)|[\w.-]+\.(css|html|js|svg)\.br|NOTICES\.txt)|[\w/]+\.proto)$/;
  const problems = files
    .filter((file) => !expected.test(file) || /\.test\.|\.tsbuildinfo/.test(file))
    .map((file) => `${file} does not belong into the package.`);
  for (const file of ['README.md', 'LICENSE']) if (!files.includes(file)) problems.push(`${file} is missing.`);
  const stale = files.filter((file) => {
    const source = file.match(/^dist\/(.+)(?:\.js|\.d\.ts)(?:\.map)?$/)?.[1];
    return source !== undefined && !existsSync(join(folder, 'src', `${source}.ts`));
  });
  return [...problems, ...stale.map((file) => `${file} has no source any more: remove dist and build again.`)];
}

/** Finds compiled files without a source map, and maps or sources missing in the package. */
function brokenMaps() {
  const compiled = files.filter((file) => /^dist\/.*(\.js|\.d\.ts)$/.test(file));
  return compiled.flatMap((file) => {
    const named = /^\/\/# sourceMappingURL=(.+)$/m.exec(readFileSync(join(folder, file), 'utf8'))?.[1];
    if (named === undefined) return [`${file} names no source map.`];
    const map = posix.join(posix.dirname(file), named);
    if (!files.includes(map)) return [`${file} names the map ${named}, which is not in the package.`];
    const { sources, sourceRoot = '' } = JSON.parse(readFileSync(join(folder, map), 'utf8'));
    return sources
      .map((source) => posix.join(posix.dirname(map), sourceRoot, source))
      .filter((source) => !files.includes(source))
      .map((source) => `${map} names the source ${source}, which is not in the package.`);
  });
}

// attw accepts a package without any types.
function missingTypes() {
  return Object.entries(manifest.exports)
    .filter(([entry, { types }]) => entry !== './package.json' && !files.includes(types?.replace('./', '')))
    .map(([entry]) => `exports["${entry}"].types is not in the package.`);
}

function unresolvedProtocols() {
  const fields = ['dependencies', 'peerDependencies', 'optionalDependencies', 'devDependencies'];
  return fields
    .flatMap((field) => Object.entries(manifest[field] ?? {}))
    .filter(([, range]) => /^(workspace|catalog|link|file):/.test(range))
    .map(([name, range]) => `${name} is asked for as ${range}, which only works in this repository.`);
}

async function publintProblems() {
  const tarballBytes = new Uint8Array(readFileSync(tarball)).buffer;
  const { messages, pkg } = await publint({ pack: { tarball: tarballBytes }, strict: true });
  return messages
    .filter((message) => message.type !== 'suggestion')
    .map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

function wrongTypes() {
  const attw = join(root, 'node_modules/.bin/attw');
  const args = [tarball, '--profile', 'esm-only', '--no-definitely-typed', '--no-color', '--no-emoji'];
  const result = spawnSync(attw, [...args, '--format', 'ascii'], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  return result.status === 0 ? [] : [`attw:\n${result.stdout}${result.stderr}`];
}

const problems = [
  ...unexpectedFiles(),
  ...brokenMaps(),
  ...missingTypes(),
  ...unresolvedProtocols(),
  ...(await publintProblems()),
  ...wrongTypes(),
];
for (const problem of problems) console.error(`${manifest.name}: ${problem}`);
if (problems.length > 0) process.exit(1);
console.log(
  `${manifest.name} ${manifest.version}: ${files.length} files, ${(bytes / 1024).toFixed(1)} kB packed, clean.`,
);
