// Loads the files of a bundle, where it is copied as `load.cjs`, from their V8 code caches: compiling takes as long as the
// rest of a start. V8 refuses the cache of another version or of other flags, and the code is compiled.
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');

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

function requireNear(name) {
  return name.startsWith('./') ? load(name.slice(2)) : require(name);
}

/** Returns the path of a code cache, for one version of Node and one architecture. */
function codeFileOf(file) {
  return `${file}.${process.version}-${process.arch}.code`;
}

function readCode(file) {
  try {
    return readFileSync(file);
  } catch {
    // Packages are published without it.
    return undefined;
  }
}

/** Compiles a file of a bundle to a function. Bundles are ASCII, and latin1 is the fastest way to read them. */
function compile(file, cachedData) {
  return new Script(readFileSync(file, 'latin1'), { filename: file, cachedData });
}

module.exports = { load, compile, codeFileOf };
