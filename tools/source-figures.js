// Prints figures about the source without tests and generated code: lines, files, single importers, and the English of
// the comments. Look at them; no test enforces them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = execFileSync('git', ['ls-files', 'packages/*/src/*', 'apps/*/src/*'], { cwd: root, encoding: 'utf8' });
const files = listed
  .split('\n')
  .filter((path) => /\.tsx?$/.test(path) && !/\.test\.|\/testing\/|\/generated\//.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const lineCount = (text) => text.split('\n').length - 1;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const count = (pattern) => sum(files.map(({ text }) => text.match(pattern)?.length ?? 0));

function printSizes() {
  const packageOf = ({ path }) => path.split('/', 2).join('/');
  for (const name of new Set(files.map(packageOf))) {
    printSize(
      name,
      files.filter((file) => packageOf(file) === name),
    );
  }
  printSize('all', files);
  console.log(`${files.filter(({ text }) => lineCount(text) <= 20).length} files of at most 20 lines`);
}

function printSize(name, own) {
  const lines = sum(own.map(({ text }) => lineCount(text)));
  console.log(`${String(lines).padStart(6)} lines ${String(own.length).padStart(5)} files  ${name}`);
}

/** Entry points have no importer and are not counted. */
function printImporters() {
  const importers = new Map(files.map(({ path }) => [path, 0]));
  for (const { path, text } of files) {
    const named = [...text.matchAll(/(?:from|import\(|import|new URL\()\s*'(\.{1,2}\/[^']+)'/g)].map((match) =>
      normalize(join(dirname(path), match[1])).replace(/\.js$/, '.ts'),
    );
    for (const imported of new Set(named)) {
      if (importers.has(imported)) importers.set(imported, importers.get(imported) + 1);
    }
  }
  const counts = [...importers.values()].filter((number) => number > 0);
  const single = counts.filter((number) => number === 1).length;
  console.log(
    `${single} of ${counts.length} imported modules (${Math.round((100 * single) / counts.length)} %) have one importer`,
  );
}

function printShapes() {
  const interfaces = files.flatMap(({ text }) => [
    ...text.matchAll(/^(?:export )?interface \w+(?:Options|Parts)\b[^]*?^}/gm),
  ]);
  console.log(`${count(/^(?:export )?(?:async )?function create[A-Z]\w*/gm)} functions createX`);
  console.log(
    `${interfaces.length} interfaces …Options and …Parts, ${sum(interfaces.map(([text]) => lineCount(text) + 1))} lines`,
  );
}

/** Relative clauses in comments. */
function printEnglish() {
  const comments = files.flatMap(({ text }) => text.match(/\/\*\*?[^]*?\*\/|^\s*\/\/.*$/gm) ?? []);
  const words = comments.flatMap((comment) => comment.toLowerCase().match(/[a-z][a-z'-]*/g) ?? []);
  for (const word of ['that', 'whether', 'which']) {
    const times = words.filter((other) => other === word).length;
    console.log(`${((1000 * times) / words.length).toFixed(1)} "${word}" per 1,000 words of comments`);
  }
}

printSizes();
printImporters();
printShapes();
printEnglish();
