// Loads the files of a bundle, where it is copied as `load.cjs`, with their V8 code cache: compiling takes as long as the
// rest of a start. With another version of Node, or other V8 flags, the code is compiled again.
const { existsSync, readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { Script } = require('node:vm');

const CODE_SUFFIX = '.code';
const NATIVE = '@duckdb/node-bindings';
/** The loaders of musl, by architecture. */
const MUSL = { x64: '/lib/ld-musl-x86_64.so.1', arm64: '/lib/ld-musl-aarch64.so.1' };
const modules = new Map();

/** Returns the exports of a file of the bundle. */
function load(fileName) {
  const known = modules.get(fileName);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  modules.set(fileName, module);
  const file = `${__dirname}/${fileName}`;
  const run = compile(file, readCode(codeFileOf(file))).runInThisContext();
  run(module.exports, requireNear, module, file, __dirname);
  return module.exports;
}

let native;

function requireNear(name) {
  if (name.startsWith('./')) return load(name.slice(2));
  return name === NATIVE ? (native ??= loadNative()) : require(name);
}

/** Loads the native library of this platform. Its package would first load another one, to tell musl from glibc. */
function loadNative() {
  if (existsSync(MUSL[process.arch] ?? '')) return require(NATIVE);
  try {
    return createRequire(require.resolve(NATIVE))(`${NATIVE}-${process.platform}-${process.arch}/duckdb.node`);
  } catch {
    // The package fails again, with an error that says why.
    return require(NATIVE);
  }
}

/** Returns the path of a code cache: it is specific to the version of Node and the architecture. */
function codeFileOf(file) {
  return `${file}.${process.version}-${process.arch}${CODE_SUFFIX}`;
}

function readCode(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Compiles a file of a bundle to a function, from its code cache if that is valid. */
function compile(file, code) {
  // Bundles are ASCII; latin1 is the fastest way to read them.
  return new Script(readFileSync(file, 'latin1'), { filename: file, cachedData: code });
}

module.exports = { load, compile, codeFileOf, CODE_SUFFIX };
