// Loads the files of a bundle, where it is copied as `load.cjs`, with their V8 code cache: compiling takes as long as the
// rest of a start. With another version of Node, or other V8 flags, the code is compiled again.
const { closeSync, existsSync, fstatSync, openSync, readSync } = require('node:fs');
const { createRequire } = require('node:module');
const { Script } = require('node:vm');

const CODE_SUFFIX = '.code';
const NATIVE = '@duckdb/node-bindings';
/** The loaders of musl, by architecture. */
const MUSL = { x64: '/lib/ld-musl-x86_64.so.1', arm64: '/lib/ld-musl-aarch64.so.1' };
/** Larger than most files. */
const BUFFER_BYTES = 1024 * 1024;
const modules = new Map();

/** Returns the exports of a file of the bundle. */
function load(fileName) {
  const known = modules.get(fileName);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  modules.set(fileName, module);
  const file = `${__dirname}/${fileName}`;
  const text = textOf(file);
  const run = toScript(file, text, readCode(codeFileOf(file))).runInThisContext();
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

/** Returns a code cache, valid until the next file is read, or undefined. */
function readCode(file) {
  try {
    return read(file);
  } catch {
    return undefined;
  }
}

/** Compiles a file of a bundle to a function, from a code cache if that is valid. */
function compile(file, code) {
  return toScript(file, textOf(file), code);
}

function toScript(file, text, code) {
  return new Script(text, { filename: file, cachedData: code });
}

/** Reads a file of a bundle. Bundles are ASCII; latin1 is the fastest way to read them. */
function textOf(file) {
  return read(file).latin1Slice();
}

let buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

/** Reads a file into memory that the next call reuses: the first use of new memory takes longer than the read. */
function read(file) {
  const descriptor = openSync(file);
  try {
    const { size } = fstatSync(descriptor);
    if (size > buffer.length) buffer = Buffer.allocUnsafeSlow(size);
    let length = 0;
    for (let bytes = size; bytes > 0 && length < size; length += bytes) {
      bytes = readSync(descriptor, buffer, length, size - length);
    }
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

module.exports = { load, compile, codeFileOf, CODE_SUFFIX };
