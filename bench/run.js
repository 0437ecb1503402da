// `npm run bench`: runs all benchmarks one after the other, or the named ones; then writes the page.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ALL = [
  'json-table',
  'store',
  'checksums',
  'first-rows',
  'one-core',
  'exports',
  'larger-than-memory',
  'files',
  'foreign-files',
  'sql',
  'uploads',
  'appends',
  'lines',
  'csv-uploads',
  'flight',
  'proxy',
  'scheduler',
  'tls',
  'isolation',
  'auth',
  'mixed-clients',
  'many-connections',
  'cold-start',
  'many-frames',
  'console',
  'file-sizes',
  'growth',
];

const named = process.argv.slice(2);
const unknown = named.find((name) => name !== 'report' && !ALL.includes(name));
if (unknown !== undefined) {
  console.error(`There is no benchmark ${unknown}; there are ${ALL.join(', ')}, and report.`);
  process.exit(2);
}
const chosen = [...(named.length === 0 ? ALL : named.filter((name) => name !== 'report')), 'report'];
for (const name of chosen) {
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url));
  console.log(`\n${name}`);
  const { status } = spawnSync(process.execPath, [file], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
