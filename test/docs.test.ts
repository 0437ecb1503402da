// Runs the documentation and checks what it names; docs/README.md says by which rules.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../apps/cli/src/commands/commands.ts';
import { formatHelp, SETTINGS } from '../packages/config/src/index.ts';
import { ERROR_CODES } from '../packages/errors/src/index.ts';
import { freePorts } from '../tools/free-ports.js';
import { type Block, blocksOf, isAsShown, normalize } from './shown-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const namesIn = (folder: string): string[] => readdirSync(join(root, folder)).toSorted();
const markdownIn = (folder: string): string[] =>
  namesIn(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

const packageFolders = [
  ...['packages', 'apps'].flatMap((parent) => namesIn(parent).map((name) => join(parent, name))),
  'proto',
];
/** The pages whose commands are run. */
const pages = ['README.md', ...markdownIn('docs'), 'apps/cli/README.md'];
const allPages = [
  ...markdownIn('.'),
  ...markdownIn('docs'),
  ...markdownIn('interop'),
  ...packageFolders.flatMap(markdownIn),
];

type Step =
  | { readonly kind: 'file'; readonly line: number; readonly name: string; readonly text: string }
  | { readonly kind: 'run' | 'start'; readonly line: number; readonly command: string; readonly shown: Block };

/** The name of the file that a block is, where its first line says so. */
const fileNameOf = ({ text }: Block): string | undefined => /^\/\/ (\S+\.m?js)\n/.exec(text)?.[1];

function stepsOf(markdown: string): Step[] {
  const blocks = blocksOf(markdown);
  return blocks.flatMap((block, index): Step[] => {
    const { language, mark, text, line } = block;
    const name = fileNameOf(block);
    if (language === 'js' && name !== undefined) return [{ kind: 'file', line, name, text }];
    if (language !== 'sh' || mark === 'no-run' || mark === 'questdb') return [];
    if (mark !== '' && mark !== 'start') throw new Error(`Line ${line}: "sh ${mark}" means nothing.`);
    const shown = blocks[index + 1];
    const isShown = shown?.followsAtOnce && ['text', 'json'].includes(shown.language);
    if (!isShown && mark === 'start') throw new Error(`Line ${line}: what is started must show when it has.`);
    return isShown ? [{ kind: mark === 'start' ? 'start' : 'run', line, command: text, shown }] : [];
  });
}

/** A directory that looks like the checkout with the packages installed, and can be written to. */
function createWorkDirectory(): string {
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

/** How long a command may take to print what is shown. */
const MAX_MS = 10_000;
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

describe.each(pages)('%s', (page) => {
  const steps = stepsOf(read(page));
  let session: Session;
  beforeAll(async () => {
    if (canRun && steps.length > 0) session = await createSession(read(page));
  });
  afterAll(() => session?.close());

  test.runIf(canRun).each(steps.map((step) => [step.line, step] as const))('what line %i says is so', (_line, step) =>
    session.step(step),
  );

  test('marks its shell commands as sh, and every block with a language', () => {
    expect(blocksOf(read(page)).filter(({ language }) => ['', 'shell', 'bash', 'console'].includes(language))).toEqual(
      [],
    );
  });
});

test('the session of the README is run', () => {
  expect(stepsOf(read('README.md')).length).toBeGreaterThan(2);
});

describe('the files of examples', () => {
  const examples = namesIn('examples').filter((name) => name.endsWith('.js'));
  const shown = pages.flatMap((page) =>
    blocksOf(read(page)).flatMap((block) => {
      const name = fileNameOf(block);
      return name !== undefined && examples.includes(name) ? [[name, block.text] as const] : [];
    }),
  );

  test.each(examples)('%s is shown on a page, as it is', (name) => {
    expect(shown.filter(([shownName]) => shownName === name)).toEqual([[name, read(join('examples', name))]]);
  });

  test.each(examples.filter((name) => name !== 'embed-observed.js'))('%s has at most ten lines of code', (name) => {
    const lines = read(join('examples', name)).split('\n');
    expect(lines.filter((line) => line !== '' && !line.startsWith('//')).length).toBeLessThanOrEqual(10);
  });
});

test.each([
  ['text', 'a…d\n', 'abcd', true],
  ['text', 'a…d\n', 'abc', false],
  ['text', '…\nlast\n', 'one\ntwo\nlast\n', true],
  ['text', 'first\n…\nlast\n', 'first\nlast\n', true],
  ['text', 'a…d\n', 'a\nd\n', false],
  ['text', 'x.z\n', 'xyz', false],
  ['json', '{ "a": [1, "b c"], "n": … }\n', '{"a":[1,"b c"],"n":5}', true],
  ['json', '{ "a": "b c" }\n', '{"a":"bc"}', false],
])('shown in a %s block, %j stands for %j: %s', (language, text, printed, expected) => {
  expect(isAsShown(printed, { ...READY, language, text })).toBe(expected);
});

const withoutBlocks = (markdown: string): string => markdown.replaceAll(/^(`{3,})[^]*?^\1$/gm, '');

/** The anchors of the headings, made as GitHub makes them. */
function anchorsOf(markdown: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...withoutBlocks(markdown).matchAll(/^#+ +(.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(
    headings.map((slug) => {
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    }),
  );
}

test.each(allPages)('the links of %s lead somewhere', (page) => {
  const targets = [...withoutBlocks(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  const broken = targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path, anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(read(file)).has(anchor);
  });
  expect(broken).toEqual([]);
});

describe('what pages name in code font exists', () => {
  const help = formatHelp({ name: 'service' });
  const flagsOf = (text: string): string[] => text.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];
  const variables = new Set(help.match(/\bSERVICE_[A-Z_]+/g));
  const settings = new Set(
    Object.entries(SETTINGS).flatMap(([section, rows]) => Object.keys(rows).map((key) => `${section}.${key}`)),
  );
  const flags = new Set([
    ...flagsOf(help),
    ...COMMANDS.flatMap((command) =>
      command.kind === 'command' ? Object.keys(command.options).map((name) => `--${name}`) : [],
    ),
    '--max-old-space-size', // of Node
    '--global', // of npm
  ]);
  const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts;
  const settingPattern = new RegExp(
    String.raw`(?<![\w./-])(?:${Object.keys(SETTINGS).join('|')})\.[a-z_]+(?![\w.])`,
    'g',
  );

  test.each(allPages)('%s', (page) => {
    const text = withoutBlocks(read(page));
    const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span);
    const unknown = spans.flatMap((span) => [
      ...(span.match(settingPattern) ?? []).filter((name) => !settings.has(name)),
      ...(span.match(/\bSERVICE_[A-Z_]+/g) ?? []).filter((name) => !variables.has(name)),
      ...flagsOf(span).filter((name) => !flags.has(name)),
      ...[...span.matchAll(/\bnpm run ([\w:-]+)/g)]
        .map(([, name]) => name)
        .filter((name) => !Object.hasOwn(scripts, name)),
    ]);
    const codes: Readonly<Record<string, { readonly http: number } | undefined>> = ERROR_CODES;
    const wrongCodes = [...text.matchAll(/\b([45]\d\d)(?:\*\*)? `([a-z_]+)`/g)]
      .filter(([, status, code]) => codes[code]?.http !== Number(status))
      .map(([found]) => found);
    expect([...unknown, ...wrongCodes]).toEqual([]);
  });
});
