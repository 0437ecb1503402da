// Keeps `src/fence/generated/spark-words.ts`: the functions of the pinned Spark that are not in
// `src/fence/spark-dialect.ts`, and its keywords. Run it with SPARK_HOME after a new version of Spark, once the new
// functions that must not be called are refused there; what this then adds is to be read, name by name. With --check it writes
// nothing, and fails if the file is not up to date.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REFUSED_SPARK_FUNCTIONS } from '../dist/fence/spark-dialect.js';

const FILE = new URL('../src/fence/generated/spark-words.ts', import.meta.url);
const SQL = `SELECT version(); SHOW SYSTEM FUNCTIONS; SELECT concat('keyword ', lower(keyword)) FROM sql_keywords()`;

const home = process.env['SPARK_HOME'];
if (home === undefined) throw new Error('Set SPARK_HOME to the directory of Spark.');
// Spark writes a metastore into the folder it runs in.
const folder = mkdtempSync(join(tmpdir(), 'spark-words-'));
const output = execFileSync(
  `${home}/bin/spark-sql`,
  ['--master', 'local[1]', '--conf', 'spark.ui.enabled=false', '-e', SQL],
  {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, SPARK_LOCAL_IP: '127.0.0.1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  },
);
rmSync(folder, { recursive: true });
const [version, ...lines] = output.split('\n').filter((line) => line !== '');
const keywords = lines.filter((line) => line.startsWith('keyword ')).map((line) => line.slice('keyword '.length));
// Operators are functions too.
const functions = lines.filter((line) => /^[a-z]\w*$/.test(line) && !REFUSED_SPARK_FUNCTIONS.has(line));

function wrapped(names) {
  const rows = [''];
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    const row = rows.at(-1);
    if (row.length + name.length > 110) rows.push(name);
    else rows[rows.length - 1] = row === '' ? name : `${row} ${name}`;
  }
  return rows.map((row) => `  ${row}`).join('\n');
}

const text = `// Written by \`tools/list-spark-words.js\`.

/** The version of Spark that these words are of. */
export const SPARK_VERSION = '${version.split(' ')[0]}';

/** The functions of Spark that SQL may call. */
export const SPARK_FUNCTIONS = \`
${wrapped(functions)}
\`;

/** The keywords of Spark. Most of them can be names too. */
export const SPARK_KEYWORDS = \`
${wrapped(keywords)}
\`;
`;
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, 'utf8') !== text) {
  console.error('spark-words.ts is not up to date. Run packages/scheduler/tools/list-spark-words.js.');
  process.exitCode = 1;
}
