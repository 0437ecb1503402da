// Does what a page of the documentation says; docs/README.md says by which rules.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../tools/free-ports.js';
import { namesIn, packageFolders, read, root } from './pages.ts';
import { type Block, blocksOf, isAsShown, normalize } from './shown-blocks.ts';

type Step =
  | { readonly kind: 'file'; readonly line: number; readonly name: string; readonly text: string }
  | { readonly kind: 'run' | 'start'; readonly line: number; readonly command: string; readonly shown: Block };

/** The name of the file that a block is, where its first line says so. */
export const fileNameOf = ({ text }: Block): string | undefined => /^\/\/ (\S+\.m?js)\n/.exec(text)?.[1];

/** What a page says to do. */
export function stepsOf(markdown: string): Step[] {
  const blocks = blocksOf(markdown);
  return blocks.flatMap((block, index): Step[] => {
    const { language, mark, text, line } = block;
    const name = fileNameOf(block);
    if (language === 'js' && name !== undefined) return [{ kind: 'file', line, name, text }];
    if (language !== 'sh' || mark === 'no-run' || mark.startsWith('questdb')) return [];
    if (mark !== '' && mark !== 'start') throw new Error(`Line ${line}: "sh ${mark}" means nothing.`);
    const shown = blocks[index + 1];
    const isShown = shown?.followsAtOnce && ['text', 'json'].includes(shown.language);
    if (!isShown && mark === 'start') throw new Error(`Line ${line}: what is started must show when it has.`);
    return isShown ? [{ kind: mark === 'start' ? 'start' : 'run', line, command: text, shown }] : [];
  });
}

/** A directory that looks like the checkout with the packages installed, and can be written to. */
export function createWorkDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  for (const name of namesIn('.')) {
    if (name !== 'node_modules') symlinkSync(join(root, name), join(directory, name));
  }
  const installed = new Map(
    packageFolders.map((folder) => [JSON.parse(read(join(folder, 'package.json'))).name, folder]),
  );
  for (const folder of packageFolders) {
    for (const name of Object.keys(JSON.parse(read(join(folder, 'package.json'))).dependencies ?? {})) {
      if (!installed.has(name)) installed.set(name, join(folder, 'node_modules', name));
    }
  }
  for (const [name, folder] of installed) {
    const link = join(directory, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, folder), link);
  }
  mkdirSync(join(directory, 'home/bin'), { recursive: true });
  // On a terminal curl shows no progress; here it would.
  writeFileSync(join(directory, 'home/.curlrc'), 'silent\nshow-error\n');
  symlinkSync(join(root, 'apps/cli/bin/svc.js'), join(directory, 'home/bin/svc'));
  return directory;
}

interface RunningShell {
  /** What it has printed so far, with the ports of the page. */
  printed(): string;
  onPrint(listener: () => void): void;
  /** Resolves when it, and all that it started, has ended. */
  readonly closed: Promise<unknown>;
  /** Ends it, and all that it started. */
  stop(): Promise<unknown>;
}

interface Session {
  step(step: Step): Promise<void>;
  close(): Promise<void>;
}

/** Does what a page says, with ports of its own in place of those it names. */
async function createSession(markdown: string): Promise<Session> {
  const named = [...markdown.matchAll(/(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d+)/g)].map(([, port]) => port);
  const shownPorts = [...new Set(['9000', '50052', ...named])];
  const ports = new Map((await freePorts(shownPorts.length)).map((port, index) => [shownPorts[index], String(port)]));
  const directory = createWorkDirectory();
  const home = join(directory, 'home');
  const env = {
    PATH: `${home}/bin:${process.env['PATH']}`,
    HOME: home,
    LC_ALL: 'C.UTF-8',
    SVC_URL: `http://127.0.0.1:${ports.get('9000')}`,
    SERVICE_HTTP_BIND_ADDRESS: `127.0.0.1:${ports.get('9000')}`,
    SERVICE_GRPC_HOST: '127.0.0.1',
    SERVICE_GRPC_PORT: ports.get('50052'),
    // As on a terminal.
    SERVICE_LOG_FORMAT: 'text',
  };
  const running = new Map<'server' | number, RunningShell>();

  const withOwnPorts = (text: string): string => text.replaceAll(/\b\d+\b/g, (word) => ports.get(word) ?? word);
  const withShownPorts = (text: string): string =>
    [...ports].reduce((result, [shown, own]) => result.replaceAll(`:${own}`, `:${shown}`), text);

  function spawnShell(command: string): RunningShell {
    // npm start would build once more, under the feet of the other tests; what it then starts is this.
    const line = withOwnPorts(command).replaceAll(/\bnpm start\b(?: --)?/g, 'exec node apps/server/bin/server.js');
    const child = spawn('bash', ['-c', `exec 2>&1\n${line}`], {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      // A group of its own, so that what the shell started ends with it.
      detached: true,
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    let isOver = false;
    const closed = once(child, 'close').finally(() => (isOver = true));
    return {
      printed: () => withShownPorts(output),
      onPrint: (listener) => child.stdout.on('data', listener),
      closed,
      stop: () => {
        if (!isOver && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
        return closed;
      },
    };
  }

  async function start(command: string, shown: Block): Promise<void> {
    const key = command.includes('npm start') ? 'server' : shown.line;
    await running.get(key)?.stop();
    const shell = spawnShell(command);
    running.set(key, shell);
    await new Promise<void>((resolve) => {
      shell.onPrint(() => isAsShown(shell.printed(), shown) && resolve());
      void shell.closed.then(() => resolve());
      setTimeout(resolve, MAX_MS).unref();
    });
    checkPrinted(shell.printed(), shown);
  }

  async function run(command: string, shown: Block): Promise<void> {
    if (!running.has('server')) await start('npm start', READY);
    const shell = spawnShell(command);
    const timer = setTimeout(() => void shell.stop(), MAX_MS);
    await shell.closed;
    clearTimeout(timer);
    checkPrinted(shell.printed(), shown);
  }

  return {
    async step(step) {
      if (step.kind === 'file') writeFileSync(join(directory, step.name), withOwnPorts(step.text), { flag: 'wx' });
      else await (step.kind === 'start' ? start : run)(step.command, step.shown);
    },
    async close() {
      await Promise.all([...running.values()].map((shell) => shell.stop()));
      rmSync(directory, { recursive: true });
    },
  };
}

/** How long a command may take to print what is shown, on a busy machine too. */
const MAX_MS = 50_000;
const READY: Block = { language: 'text', mark: '', text: '…\n…INFO  ready …', line: 0, followsAtOnce: true };

function checkPrinted(printed: string, shown: Block): void {
  if (isAsShown(printed, shown)) return;
  expect(normalize(printed, shown.language), `line ${shown.line} shows something else`).toBe(
    normalize(shown.text, shown.language),
  );
}

const missingTools = ['bash', 'curl'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined);
const canRun = missingTools.length === 0;
if (!canRun)
  process.stderr.write(`The commands of the documentation are not run: no ${missingTools.join(' and no ')}.\n`);

/** Tests that what a page says is so, step by step. */
export function testSession(page: string): void {
  const steps = stepsOf(read(page));
  let session: Session;
  beforeAll(async () => {
    if (canRun && steps.length > 0) session = await createSession(read(page));
  });
  afterAll(() => session?.close());

  test.runIf(canRun).each(steps.map((step) => [step.line, step] as const))('what line %i says is so', (_line, step) =>
    session.step(step),
  );
}
