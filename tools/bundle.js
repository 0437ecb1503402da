// Puts what the binaries load into few files, `apps/*/bundle`: to find and read hundreds of modules takes Node longer than
// to run them. The packages themselves are published, and tested, as they are compiled.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stampFile = `${root}node_modules/.bundle-stamp`;
const BINARIES = { server: 'apps/server', svc: 'apps/cli' };
/** What is not JavaScript stays a dependency that is installed. */
const EXTERNAL = '@duckdb/node-bindings';
const LICENCES = 'NOTICES.txt';

/** A program that a module starts, as a process or a thread: it is beside it in the bundle. */
const PROGRAM = /new URL\('([^']+\.js)', import\.meta\.url\)/g;
/** A package that a module requires, because Node is slow to import it: it is bundled like those that are imported. */
const REQUIRED = /const (\w+) = createRequire\(import\.meta\.url\)\('([^']+)'\);/g;

const asModules = {
  name: 'as-modules',
  transform: {
    filter: { code: [PROGRAM, REQUIRED] },
    handler(code, id) {
      return code
        .replaceAll(REQUIRED, (_, name, specifier) => `import ${name} from '${specifier}';`)
        .replaceAll(PROGRAM, (_, path) => {
          const file = join(dirname(id), path);
          const name = basename(file, '.js') === 'main' ? basename(dirname(file)) : basename(file, '.js');
          return `new URL(import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: 'chunk', id: file, name })})`;
        });
    },
  },
};

/** Text that has a byte for each character is parsed in half the time. */
const inAscii = {
  name: 'in-ascii',
  generateBundle(_, files) {
    for (const file of Object.values(files)) file.code = file.code.replaceAll(/[^\0-\x7f]/g, escaped);
  },
};

function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Bundles one binary with the programs it starts; gives the files that were read and written. */
async function bundle(name, folder) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: { [name]: join(root, folder, 'dist/main.js') },
    platform: 'node',
    external: [EXTERNAL],
    plugins: [asModules, inAscii],
    // One library uses it to hide from bundlers.
    checks: { eval: false },
  });
  const dir = join(root, folder, 'bundle');
  const { output } = await build.write({
    dir,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  writeFileSync(join(dir, LICENCES), licences(output.flatMap((chunk) => chunk.moduleIds)));
  const read = await build.watchFiles;
  await build.close();
  // Only now, and only what is left over: a server may be running on these files.
  const written = new Set([LICENCES, ...output.map(({ fileName }) => fileName)]);
  for (const file of readdirSync(dir)) if (!written.has(file)) rmSync(join(dir, file));
  return [...read, ...[...written].map((file) => join(dir, file))].filter((file) => existsSync(file));
}

/** The licences of the packages that modules are from. */
function licences(modules) {
  const packages = new Set(modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0]));
  packages.delete(undefined);
  const texts = [...packages].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)\b/i.test(file));
    const own = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...own].join('\n\n');
  });
  return `The files beside this one contain these packages.\n\n${texts.toSorted().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** What tells whether a file has changed. */
function stateOf(file) {
  const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${mtimeMs} ${size}`;
}

function isUpToDate() {
  if (!existsSync(stampFile)) return false;
  const states = JSON.parse(readFileSync(stampFile, 'utf8'));
  return Object.entries(states).every(([file, state]) => stateOf(join(root, file)) === state);
}

if (!isUpToDate()) {
  const files = [fileURLToPath(import.meta.url), `${root}pnpm-lock.yaml`];
  for (const [name, folder] of Object.entries(BINARIES)) files.push(...(await bundle(name, folder)));
  writeFileSync(
    stampFile,
    JSON.stringify(Object.fromEntries(files.map((file) => [relative(root, file), stateOf(file)]))),
  );
}
