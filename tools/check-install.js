// Installs all packages from their tarballs into an empty project, as a user would, and uses every entry point.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pack, packageFolders, temporaryDirectory } from './pack.js';

const directory = temporaryDirectory();
const project = join(directory, 'project');
const packages = packageFolders().map((folder) => pack(folder, directory));

function run(command, args) {
  const result = spawnSync(command, args, {
    cwd: project,
    encoding: 'utf8',
    timeout: 300_000,
    shell: process.platform === 'win32',
    // A registry, a prefix or a workspace of the project this runs in must not reach into the empty one.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle)_/.test(name))),
  });
  return { ok: result.status === 0, output: `${result.stdout}${result.stderr}${result.error?.message ?? ''}`.trim() };
}

function install() {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
  const tarballs = packages.map(({ tarball }) => tarball);
  const result = run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs]);
  return result.ok ? [] : [`npm install failed:\n${result.output}`];
}

function importProblems({ name, exports, peerDependenciesMeta = {} }) {
  return Object.keys(exports ?? {})
    .filter((entry) => entry !== './package.json')
    .flatMap((entry) => {
      const specifier = join(name, entry);
      const { ok, output } = run(process.execPath, ['--input-type=module', '--eval', `await import('${specifier}');`]);
      const missing = output.match(/Cannot find package '([^']+)'/)?.[1];
      const needsOptionalPeer = entry !== '.' && peerDependenciesMeta[missing]?.optional === true;
      return ok || needsOptionalPeer ? [] : [`import '${specifier}' failed:\n${output}`];
    });
}

function binaryProblems({ bin = {}, version }) {
  return Object.keys(bin).flatMap((name) => {
    const binary = join(project, 'node_modules/.bin', name);
    const versionRun = run(binary, ['--version']);
    const help = run(binary, ['--help']);
    return [
      ...(versionRun.ok && versionRun.output.includes(version)
        ? []
        : [`${name} --version does not print ${version}:\n${versionRun.output}`]),
      ...(help.ok && help.output.includes(name) ? [] : [`${name} --help does not print its usage:\n${help.output}`]),
    ];
  });
}

const problems = install();
if (problems.length === 0) {
  for (const { manifest } of packages) problems.push(...importProblems(manifest), ...binaryProblems(manifest));
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(
  `${packages.length} packages install from their tarballs into an empty project, and every entry point works.`,
);
