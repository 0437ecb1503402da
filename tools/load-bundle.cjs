// Loads the files of a bundle, in which it is as `load.cjs`, with what V8 made of them when they were bundled: to compile
// them takes as long as all the rest of a start. Another version of Node, or other flags of V8, compile them anew.
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');

const CODE_SUFFIX = '.code';
const modules = new Map();

/** What a file of the bundle exports. */
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

/** Where the code of a file is: it is made by one version of Node, for one kind of processor. */
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

/** A file of a bundle as a function, by its code where there is some that fits. */
function compile(file, code) {
  // Bundles are in ASCII, which is read fastest like this.
  return new Script(readFileSync(file, 'latin1'), { filename: file, cachedData: code });
}

module.exports = { load, compile, codeFileOf, CODE_SUFFIX };
