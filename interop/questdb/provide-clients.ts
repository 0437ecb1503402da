import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython } from '../../tools/python-environment.js';

const NODE_CLIENT = { name: '@questdb/nodejs-client', version: '4.2.0' };
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));
/** The path of a file in this folder. */
export const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Installs QuestDB's client for Node once, apart from the packages of the project. Returns its folder. */
function provideNodeClient(): string {
  const folder = join(CACHE, `questdb-nodejs-client-${NODE_CLIENT.version}`);
  const stamp = join(folder, 'complete');
  if (existsSync(stamp)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const what = `${NODE_CLIENT.name}@${NODE_CLIENT.version}`;
  const args = ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', what];
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`Installing ${what} failed:\n${stderr}`);
  writeFileSync(stamp, '');
  return folder;
}

/** The folder of the programs of the Python packages: Python itself, and the command line of questdb-rest. */
export function providePrograms(): string {
  return providePython('interop-questdb', here('requirements.txt'));
}

/** The command lines of the programs that send rows with QuestDB's own clients, by language. */
export function provideClients(): Readonly<Record<'Python' | 'Node', readonly [string, ...string[]]>> {
  const python = join(providePrograms(), 'python');
  return {
    Python: [python, '-W', 'error', here('send_lines.py')],
    Node: [process.execPath, here('send-lines.mjs'), provideNodeClient()],
  };
}
