// Runs the documentation and checks what it names; docs/README.md says by which rules.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../apps/cli/src/commands/commands.ts';
import { formatHelp, SETTINGS } from '../packages/config/src/index.ts';
import { ERROR_CODES } from '../packages/errors/src/index.ts';
import { createWorkDirectory, fileNameOf, stepsOf, testSession } from './page-session.ts';
import { allPages, FIRST_PAGES, namesIn, packageFolders, pages, read, root } from './pages.ts';
import { blocksOf, isAsShown } from './shown-blocks.ts';

describe.each(FIRST_PAGES)('%s', (page) => {
  testSession(page);
});

test.each(pages)('%s marks its shell commands as sh, and every block with a language', (page) => {
  expect(blocksOf(read(page)).filter(({ language }) => ['', 'shell', 'bash', 'console'].includes(language))).toEqual(
    [],
  );
});

test('the session of the README is run', () => {
  expect(stepsOf(read('README.md')).length).toBeGreaterThan(2);
});

/** They show options, not how to mount the app. */
const LONG_EXAMPLES = new Set(['embed-observed.js', 'embed-own-frames.js', 'embed-users.js']);

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

  test.each(examples.filter((name) => !LONG_EXAMPLES.has(name)))('%s has at most ten lines of code', (name) => {
    const lines = read(join('examples', name)).split('\n');
    expect(lines.filter((line) => line !== '' && !line.startsWith('//')).length).toBeLessThanOrEqual(10);
  });
});

test('docs/embedding.md says to install every package of this repository that its programs import', () => {
  const page = read('docs/embedding.md');
  const programs = blocksOf(page).filter((block) => fileNameOf(block) !== undefined);
  const imported = new Set(programs.flatMap(({ text }) => text.match(/(?<=from ')@svc\/[a-z-]+/g) ?? []));
  const [, published] = /^npm install (.*)$/m.exec(page) ?? [];
  const [, byPath] = /Until the packages are published([^]*?)by path/.exec(page) ?? [];
  expect([...imported].filter((name) => !published.split(' ').includes(name))).toEqual([]);
  expect([...imported].filter((name) => !byPath.includes(`\`${name.replace('@svc', 'packages')}\``))).toEqual([]);
});

describe('the code of pages and of the heads of entry points', () => {
  // Programs for these are run by tools/check-examples.js and interop/node; their types are not installed here.
  const UNTYPED = ['express', '@gizmodata/gizmosql-client'];
  const heads = packageFolders.flatMap((folder) =>
    [join(folder, 'src'), join(folder, 'src/internal')]
      .filter((path) => existsSync(join(root, path)))
      .flatMap((path) => readdirSync(join(root, path)).map((file) => join(path, file)))
      .filter((path) => /\/(?:index|internal|internal\/[^/]+)\.ts$/.test(path)),
  );
  const headOf = (path: string): string =>
    read(path)
      .split('*/')[0]
      .replaceAll(/^ \* ?/gm, '');
  const blocks = [...allPages.map((page) => [page, read(page)]), ...heads.map((path) => [path, headOf(path)])].flatMap(
    ([page, markdown]) => blocksOf(markdown).map((block) => ({ ...block, page })),
  );

  /** Compiles all blocks of a language as modules of one program. Returns the errors, with page and line. */
  function compile(language: string, strict: boolean): string[] {
    const directory = createWorkDirectory();
    onTestFinished(() => rmSync(directory, { recursive: true }));
    symlinkSync(
      join(root, 'packages/service/node_modules/@opentelemetry'),
      join(directory, 'node_modules/@opentelemetry'),
    );
    const own = blocks.filter((block) => block.language === language);
    own.forEach(({ text }, i) => writeFileSync(join(directory, `block-${i}.${language}`), text));
    writeFileSync(join(directory, 'untyped.d.ts'), UNTYPED.map((name) => `declare module '${name}';\n`).join(''));
    const compilerOptions = {
      target: 'es2023',
      module: 'nodenext',
      moduleDetection: 'force',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      noEmit: true,
      skipLibCheck: true,
      checkJs: true,
      strict,
    };
    const files = ['untyped.d.ts', ...own.map((_block, i) => `block-${i}.${language}`)];
    writeFileSync(join(directory, 'blocks.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'blocks.json'], { cwd: directory, encoding: 'utf8' });
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) =>
        line.replace(/^block-(\d+)\.\w+\((\d+),\d+\)/, (_found, i: string, at: string) => {
          const { page, line: first } = own[Number(i)];
          return `${page}:${first + Number(at)}`;
        }),
      );
  }

  test('compiles as TypeScript', () => {
    expect(compile('ts', true)).toEqual([]);
  });

  test('compiles as JavaScript, with the types of what it calls', () => {
    expect(compile('js', false)).toEqual([]);
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
  expect(isAsShown(printed, { language, text, mark: '', line: 0, followsAtOnce: true })).toBe(expected);
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
    '--cacert', // of curl
    '--user', // of curl
    '--binaries', // of tools/build.js
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
