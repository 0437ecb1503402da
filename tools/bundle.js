// Bundles the sources of the binaries into a few files, `apps/*/bundle`: Node takes longer to find and read hundreds of
// modules than to run them. Next to each file is its V8 code cache, because compiling takes as long again
// (`load-bundle.cjs`). The bundler strips the types itself, so that a start needs no compiler. The packages are published
// and tested as compiled by `tsc`.
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { buildConsole } from './build-console.js';
import { licencesOf, packagesOf, sbomOf } from './bundled-packages.js';
import { packageFolders, root } from './pack.js';

const stampFile = `${root}node_modules/.bundle-stamp`;
/** Any other Node refuses the code cache. */
const NODE = `${process.version} ${process.arch}`;
const BINARIES = { server: 'apps/server', svc: 'apps/cli' };
/** Native code stays an installed dependency. */
const EXTERNAL = '@duckdb/node-bindings';
const LICENCES = 'NOTICES.txt';
const SBOM = 'sbom.cdx.json';
const LOADER = fileURLToPath(new URL('load-bundle.cjs', import.meta.url));
const { codeFileOf, compile } = createRequire(import.meta.url)(LOADER);

/** A program, started as a process or thread: it becomes a file of the bundle. */
const PROGRAM = /new URL\('(?!(?:\.\.\/)+web\/)([^']+\.js)', import\.meta\.url\)/g;
/** A folder of files for browsers: it is copied into the bundle, under the name of its package. */
const WEB_FOLDER = /new URL\('((?:\.\.\/)+web\/)', import\.meta\.url\)/g;
/** A file for browsers: it is copied into the bundle. */
const WEB_FILE = /new URL\('((?:\.\.\/)+web\/[^']+)', import\.meta\.url\)/g;
/** A required package, because Node is slow to import it: it is bundled like an imported one. */
const REQUIRED = /const (\w+)(?:: [^=;]+)? = createRequire\(import\.meta\.url\)\('([^']+)'\);/g;

/** Maps each entry point of the packages of this repository to its source; `$` ends a specifier. */
function ownEntries() {
  return packageFolders().flatMap((folder) => {
    const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return Object.entries(exports)
      .filter(([, target]) => target.default !== undefined)
      .map(([entry, target]) => [`${posix.join(name, entry)}$`, sourceOf(join(folder, target.default))]);
  });
}

/** Returns the source of a compiled file. */
function sourceOf(file) {
  return file.replace(`${sep}dist${sep}`, `${sep}src${sep}`).replace(/\.js$/, '.ts');
}

const asModules = {
  name: 'as-modules',
  transform: {
    filter: { code: [PROGRAM, REQUIRED, WEB_FILE, WEB_FOLDER] },
    handler(code, id) {
      return code
        .replaceAll(REQUIRED, (_, name, specifier) => `import ${name} from '${specifier}';`)
        .replaceAll(PROGRAM, (_, path) => {
          const file = sourceOf(join(dirname(id), path));
          const name = basename(file, '.ts') === 'main' ? basename(dirname(file)) : basename(file, '.ts');
          this.emitFile({ type: 'chunk', id: file, name });
          return `new URL('./${programOf(name)}', import.meta.url)`;
        })
        .replaceAll(WEB_FILE, (_, path) => {
          const file = join(dirname(id), path);
          this.addWatchFile(file);
          const fileName = `web-${basename(file)}`;
          this.emitFile({ type: 'asset', fileName, source: readFileSync(file) });
          return `new URL('./${fileName}', import.meta.url)`;
        })
        .replaceAll(WEB_FOLDER, (_, path) => {
          const folder = join(dirname(id), path);
          const name = `web-${basename(dirname(folder))}`;
          for (const file of readdirSync(folder)) {
            this.addWatchFile(join(folder, file));
            this.emitFile({ type: 'asset', fileName: `${name}/${file}`, source: readFileSync(join(folder, file)) });
          }
          return `new URL('./${name}/', import.meta.url)`;
        });
    },
  },
};

/** The file to start for a program. */
function programOf(name) {
  return `run-${name}.cjs`;
}

/** Wraps each file in the CommonJS function. ASCII text is the fastest to read. */
const asFunctions = {
  name: 'as-functions',
  generateBundle(_, files) {
    for (const file of Object.values(files).filter(({ type }) => type === 'chunk')) {
      const code = file.code.replaceAll(/[^\0-\x7f]/g, escaped);
      file.code = `(function (exports, require, module, __filename, __dirname) {${code}\n})`;
    }
  },
};

function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Bundles one binary with the programs it starts; returns the files it read and wrote. */
async function bundle(name, folder, pageModules) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: { [name]: join(root, folder, 'src/main.ts') },
    platform: 'node',
    resolve: { alias: Object.fromEntries(ownEntries()) },
    external: [EXTERNAL],
    plugins: [asModules, asFunctions],
    // One library uses eval to hide an import from bundlers.
    checks: { eval: false },
    // Otherwise it would fail at the user who needs it first.
    onLog(level, log, report) {
      report(log.code === 'UNRESOLVED_IMPORT' ? 'error' : level, log);
    },
  });
  const dir = join(root, folder, 'bundle');
  // If a process starts during the build, it compiles the code itself.
  for (const file of filesIn(dir)) if (file.endsWith('.code')) rmSync(join(dir, file));
  const { output } = await build.write({
    dir,
    // Node loads ES modules more slowly, and has no code cache for them.
    format: 'cjs',
    strict: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  const read = await build.watchFiles;
  await build.close();
  const chunks = output.filter(({ type }) => type === 'chunk');
  const packages = packagesOf([...chunks.flatMap((chunk) => chunk.moduleIds), ...pageModules]);
  writeFileSync(join(dir, LICENCES), licencesOf(packages));
  writeFileSync(join(dir, SBOM), sbomOf(join(root, folder), packages, EXTERNAL));
  copyFileSync(LOADER, join(dir, 'load.cjs'));
  const programs = chunks
    .filter((chunk) => chunk.isEntry && chunk.name !== name)
    .map((chunk) => writeProgram(dir, chunk));
  const code = chunks.map(({ fileName }) => writeCode(dir, fileName));
  // Only now, and only what is left over: a server may be running on these files.
  const written = new Set([
    LICENCES,
    SBOM,
    'load.cjs',
    ...programs,
    ...output.map(({ fileName }) => fileName),
    ...code,
  ]);
  for (const file of filesIn(dir)) if (!written.has(file)) rmSync(join(dir, file));
  return [...read, ...[...written].map((file) => join(dir, file))].filter((file) => existsSync(file));
}

/** The files in a folder and below it, as paths from there. */
function filesIn(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
}

/** Writes the file of a program. */
function writeProgram(dir, { name, fileName }) {
  writeFileSync(join(dir, programOf(name)), `require('./load.cjs').load('${fileName}');\n`);
  return programOf(name);
}

/** Writes the V8 code cache of a file, with all functions compiled. */
function writeCode(dir, fileName) {
  setFlagsFromString('--no-lazy');
  const script = compile(join(dir, fileName));
  // A code cache works only with the same V8 flags.
  setFlagsFromString('--lazy');
  const codeFile = codeFileOf(fileName);
  writeFileSync(join(dir, codeFile), script.createCachedData());
  return codeFile;
}

/** Returns a stamp of the file. */
function stateOf(file) {
  const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${mtimeMs} ${size}`;
}

function isUpToDate() {
  if (!existsSync(stampFile)) return false;
  const { node, states = {} } = JSON.parse(readFileSync(stampFile, 'utf8'));
  return node === NODE && Object.entries(states).every(([file, state]) => stateOf(join(root, file)) === state);
}

const pageModules = await buildConsole();
if (!isUpToDate()) {
  const own = fileURLToPath(new URL('bundled-packages.js', import.meta.url));
  const files = [fileURLToPath(import.meta.url), own, LOADER, `${root}pnpm-lock.yaml`];
  for (const [name, folder] of Object.entries(BINARIES)) files.push(...(await bundle(name, folder, pageModules)));
  const states = Object.fromEntries(files.map((file) => [relative(root, file), stateOf(file)]));
  writeFileSync(stampFile, JSON.stringify({ node: NODE, states }));
}
