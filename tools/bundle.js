// Bundles the sources of the binaries into few files, `apps/*/bundle`: to find and read hundreds of modules takes Node
// longer than to run them. Beside each file is what V8 makes of it, which takes as long again (`load-bundle.cjs`). The
// bundler strips the types itself, so that a start needs no compiler. The packages are published, and tested, as `tsc`
// compiles them.
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { packageFolders, root } from './pack.js';

const stampFile = `${root}node_modules/.bundle-stamp`;
/** Compiled code is of use to the Node that made it alone. */
const NODE = `${process.version} ${process.arch}`;
const BINARIES = { server: 'apps/server', svc: 'apps/cli' };
/** What is not JavaScript stays a dependency that is installed. */
const EXTERNAL = '@duckdb/node-bindings';
const LICENCES = 'NOTICES.txt';
const LOADER = fileURLToPath(new URL('load-bundle.cjs', import.meta.url));
const { CODE_SUFFIX, codeFileOf, compile } = createRequire(import.meta.url)(LOADER);

/** A program that a module starts, as a process or a thread: it is beside it in the bundle. */
const PROGRAM = /new URL\('([^']+\.js)', import\.meta\.url\)/g;
/** A package that a module requires, because Node is slow to import it: it is bundled like those that are imported. */
const REQUIRED = /const (\w+)(?:: [^=;]+)? = createRequire\(import\.meta\.url\)\('([^']+)'\);/g;

/** The source of each entry point of the packages of this repository; `$` is the end of a specifier. */
function ownEntries() {
  return packageFolders().flatMap((folder) => {
    const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return Object.entries(exports)
      .filter(([, target]) => target.default !== undefined)
      .map(([entry, target]) => [`${posix.join(name, entry)}$`, sourceOf(join(folder, target.default))]);
  });
}

/** The source of a compiled file. */
function sourceOf(file) {
  return file.replace(`${sep}dist${sep}`, `${sep}src${sep}`).replace(/\.js$/, '.ts');
}

const asModules = {
  name: 'as-modules',
  transform: {
    filter: { code: [PROGRAM, REQUIRED] },
    handler(code, id) {
      return code
        .replaceAll(REQUIRED, (_, name, specifier) => `import ${name} from '${specifier}';`)
        .replaceAll(PROGRAM, (_, path) => {
          const file = sourceOf(join(dirname(id), path));
          const name = basename(file, '.ts') === 'main' ? basename(dirname(file)) : basename(file, '.ts');
          this.emitFile({ type: 'chunk', id: file, name });
          return `new URL('./${programOf(name)}', import.meta.url)`;
        });
    },
  },
};

/** The file to start for a program. */
function programOf(name) {
  return `run-${name}.cjs`;
}

/** Each file is the function that CommonJS makes of a module. Text of a byte for each character is read fastest. */
const asFunctions = {
  name: 'as-functions',
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      const code = file.code.replaceAll(/[^\0-\x7f]/g, escaped);
      file.code = `(function (exports, require, module, __filename, __dirname) {${code}\n})`;
    }
  },
};

function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Bundles one binary with the programs it starts; gives the files that were read and written. */
async function bundle(name, folder) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: { [name]: join(root, folder, 'src/main.ts') },
    platform: 'node',
    resolve: { alias: Object.fromEntries(ownEntries()) },
    external: [EXTERNAL],
    plugins: [asModules, asFunctions],
    // One library uses it to hide from bundlers.
    checks: { eval: false },
  });
  const dir = join(root, folder, 'bundle');
  // What is about to change is compiled anew by whoever starts now.
  for (const file of filesIn(dir)) if (file.endsWith(CODE_SUFFIX)) rmSync(join(dir, file));
  const { output } = await build.write({
    dir,
    // Node is slower to load ES modules, and keeps no compiled code of them.
    format: 'cjs',
    strict: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  const read = await build.watchFiles;
  await build.close();
  writeFileSync(join(dir, LICENCES), licences(output.flatMap((chunk) => chunk.moduleIds)));
  copyFileSync(LOADER, join(dir, 'load.cjs'));
  const programs = output
    .filter((chunk) => chunk.isEntry && chunk.name !== name)
    .map((chunk) => writeProgram(dir, chunk));
  const code = output.map(({ fileName }) => writeCode(dir, fileName));
  // Only now, and only what is left over: a server may be running on these files.
  const written = new Set([LICENCES, 'load.cjs', ...programs, ...output.map(({ fileName }) => fileName), ...code]);
  for (const file of filesIn(dir)) if (!written.has(file)) rmSync(join(dir, file));
  return [...read, ...[...written].map((file) => join(dir, file))].filter((file) => existsSync(file));
}

function filesIn(dir) {
  return existsSync(dir) ? readdirSync(dir) : [];
}

/** Writes the file that starts a program. */
function writeProgram(dir, { name, fileName }) {
  writeFileSync(join(dir, programOf(name)), `require('./load.cjs').load('${fileName}');\n`);
  return programOf(name);
}

/** Writes what V8 makes of a file, all its functions compiled. */
function writeCode(dir, fileName) {
  setFlagsFromString('--no-lazy');
  const script = compile(join(dir, fileName));
  // Code is of use only to a V8 with the same flags.
  setFlagsFromString('--lazy');
  const codeFile = codeFileOf(fileName);
  writeFileSync(join(dir, codeFile), script.createCachedData());
  return codeFile;
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
  const { node, states = {} } = JSON.parse(readFileSync(stampFile, 'utf8'));
  return node === NODE && Object.entries(states).every(([file, state]) => stateOf(join(root, file)) === state);
}

if (!isUpToDate()) {
  const files = [fileURLToPath(import.meta.url), LOADER, `${root}pnpm-lock.yaml`];
  for (const [name, folder] of Object.entries(BINARIES)) files.push(...(await bundle(name, folder)));
  const states = Object.fromEntries(files.map((file) => [relative(root, file), stateOf(file)]));
  writeFileSync(stampFile, JSON.stringify({ node: NODE, states }));
}
