// The style of this repository as a test: an argument about it ends here.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

// Who may import whom: only downward, never sideways.
const LAYERS = [
  ['server', 'cli'],
  ['exec-http', 'grpc', 'console'],
  ['service'],
  ['duckdb', 'scheduler', 'tsdb-proxy', 'auth'],
  ['frames', 'objects', 'config', 'proto', 'client'],
  ['errors', 'arrow'],
] as const;

// `svc serve` is the server itself, not a second way to start one.
const SIDEWAYS = new Set(['cli → server']);

// Their types are in our signatures: a user's copy and ours must be one.
const SHOWN_LIBRARIES = ['apache-arrow', 'hono'];

// A guard against accidents: a file holds one idea whole, and is not split for a number.
const MAX_SOURCE_LINES = 600;
const MAX_TEST_LINES = 500;
const MAX_README_LINES = 60;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly repository?: unknown;
  readonly publishConfig?: unknown;
  readonly packageManager?: string;
  readonly engines: unknown;
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface Package {
  readonly name: string;
  readonly folder: string;
  readonly manifest: Manifest;
  readonly files: readonly string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const ignored = new Set([
  '.git',
  'pnpm-lock.yaml',
  // npm makes this one where HOME is set to nothing.
  '~',
  ...read('.gitignore')
    .split('\n')
    .map((line) => line.replace(/\/$/, '')),
]);

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function readManifest(folder: string): Manifest {
  const manifest: Manifest = JSON.parse(read(join(folder, 'package.json')));
  return manifest;
}

/** The folders that a tsconfig.json references, which may hold comments. */
function readReferences(folder: string): string[] {
  const text = read(join(folder, 'tsconfig.json')).replaceAll(/^\s*\/\/.*$/gm, '');
  const { references = [] }: { references?: { path: string }[] } = JSON.parse(text);
  return references.map(({ path }) => join(folder, path));
}

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !ignored.has(name) && !ignored.has(join(folder, name)))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(path) : [path];
    });
}

function loadPackage(folder: string): Package {
  const manifest = readManifest(folder);
  return { name: manifest.name.replace('@svc/', ''), folder, manifest, files: filesUnder(folder) };
}

const folders = ['packages', 'apps'].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => join(parent, name)),
);
const workspaces = [...folders, 'proto'].map(loadPackage);
const packages = workspaces.filter(({ manifest }) => manifest.private !== true);
const byName = packages.map((one) => [one.name, one] as const);
const rootManifest = readManifest('.');

const isTest = (path: string): boolean => path.endsWith('.test.ts') || /(^|\/)test\//.test(path);
const isGenerated = (path: string): boolean => path.includes('/generated/');
const allFiles = filesUnder('.');
const codeFiles = allFiles.filter((path) => /\.[jt]sx?$/.test(path) && !isGenerated(path));
const sourcesOf = ({ files }: Package): string[] =>
  files.filter((path) => /\/src\/.*\.tsx?$/.test(path) && !isTest(path) && !isGenerated(path));

function lineCount(path: string): number {
  return read(path).trimEnd().split('\n').length;
}

/** Where in the files the pattern stands, as `path:line says …`. */
function findings(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} says "${line.trim()}"`] : [])),
  );
}

function importsOf(path: string): string[] {
  const text = read(path);
  const statements = text.matchAll(/^(?:import|export)\b(?:[^;]*?\bfrom)? ?'([^']+)'/gm);
  const calls = text.matchAll(/\bimport\('([^']+)'\)/g);
  return [...statements, ...calls].map((match) => match[1]);
}

/** Whether a package can be imported; one that cannot is its binary, which is a bundle. */
function isLibrary({ exports }: Manifest): boolean {
  return Object.keys(exports).some((entry) => entry !== './package.json');
}

/** The packages of this workspace that the source of a package may import: a bundle contains them, others need them. */
function workspaceDependencies(manifest: Manifest): string[] {
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const names = Object.keys(isLibrary(manifest) ? { ...dependencies, ...peerDependencies } : { ...devDependencies });
  return names.filter((name) => name.startsWith('@svc/')).map((name) => name.replace('@svc/', ''));
}

function layerOf(name: string): number {
  return LAYERS.findIndex((layer) => (layer as readonly string[]).includes(name));
}

/** The sources behind the entry points of a package. */
function entryPoints({ folder, manifest }: Package): string[] {
  return Object.values(manifest.exports)
    .map((target) => (typeof target === 'string' ? target : target['default']))
    .filter((target) => target.endsWith('.js'))
    .map((target) => join(folder, target.replace('./dist/', 'src/').replace(/\.js$/, '.ts')));
}

interface Export {
  readonly name: string;
  readonly from: string;
}

const EXPORT_FROM = /^export (?:type )?\{([^}]*)\} from '([^']+)';$/gm;
const EXPORT_GENERATED = /^export \* as \w+ from '\.\/generated\/[^']+';$/gm;

function exportsOf(path: string): Export[] {
  return [...read(path).matchAll(EXPORT_FROM)].flatMap((match) =>
    match[1]
      .split(',')
      .map((part) =>
        part
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*$/, ''),
      )
      .filter((name) => name !== '')
      .map((name) => ({ name, from: match[2] })),
  );
}

/** Whether the declaration behind an export has a doc comment; what other packages declare is theirs to document. */
function isDocumented(path: string, name: string): boolean {
  const passedOn = exportsOf(path).find((one) => one.name === name);
  if (passedOn !== undefined) {
    const target = join(dirname(path), passedOn.from);
    return !passedOn.from.startsWith('.') || isGenerated(target) || isDocumented(target, passedOn.name);
  }
  const keyword = '(?:function\\*?|const|let|class|interface|type|namespace)';
  const declaration = `(?:export )?(?:declare |abstract |async )*${keyword} ${name}\\b`;
  return new RegExp(`\\*/\\n(?://.*\\n)*${declaration}`).test(read(path));
}

describe('the layers', () => {
  test('name every package', () => {
    expect(new Set(packages.map(({ name }) => name))).toEqual(new Set(LAYERS.flat()));
  });

  test('let dependencies point only downward', () => {
    const wrong = packages.flatMap(({ name, manifest }) =>
      workspaceDependencies(manifest)
        .filter((other) => layerOf(other) <= layerOf(name) && !SIDEWAYS.has(`${name} → ${other}`))
        .map((other) => `${name} depends on ${other}, which is not below it`),
    );
    expect(wrong).toEqual([]);
  });

  test.each(byName)('are the same in package.json and tsconfig.json of %s', (_name, { folder, manifest }) => {
    const referenced = readReferences(folder).map((path) => basename(path));
    expect(new Set(referenced)).toEqual(new Set(workspaceDependencies(manifest)));
  });

  test.each(byName)('are kept by the imports of %s', (_name, one) => {
    const declared = workspaceDependencies(one.manifest);
    const wrong = sourcesOf(one).flatMap((path) =>
      importsOf(path).flatMap((specifier) => {
        const other = specifier.match(/^@svc\/([^/]+)/)?.[1];
        if (other !== undefined && !declared.includes(other)) return [`${path} imports ${specifier}, not a dependency`];
        const outside =
          specifier.startsWith('.') && relative(one.folder, join(dirname(path), specifier)).startsWith('..');
        return outside ? [`${path} imports ${specifier}, outside of its package`] : [];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('are all built: the root tsconfig.json references every package', () => {
    expect(new Set(readReferences('.'))).toEqual(new Set(packages.map(({ folder }) => folder)));
  });
});

// Words that paraphrase: write the standard term, or "if" and "when". docs/architecture.md has the glossary.
const PARAPHRASES = /\b(?:whoever|nobody|somebody|so many|so much|is told|hears of|to be had|that is of)\b/i;
/** The number of lines that have one. It may only fall. */
const MAX_PARAPHRASES = 0;

test('comments, messages and pages use the standard terms', () => {
  const texts = allFiles.filter(
    (path) => /\.(?:[jt]sx?|css|html|md|py|proto)$/.test(path) && path !== 'test/tidy.test.ts',
  );
  const found = findings(texts, PARAPHRASES);
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(MAX_PARAPHRASES);
});

describe('files', () => {
  test('are short: a long one holds two ideas', () => {
    const long = codeFiles.flatMap((path) => {
      const most = isTest(path) ? MAX_TEST_LINES : MAX_SOURCE_LINES;
      return lineCount(path) > most ? [`${path} has ${lineCount(path)} lines, at most ${most} are good`] : [];
    });
    expect(long).toEqual([]);
  });

  test('are named in kebab-case, those of a component after it', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.((slow\.)?test|config|d))?\.[jt]sx?$/;
    const component = /^([A-Z][a-z0-9]*)+\.tsx$/;
    const names = codeFiles.filter((path) => !kebab.test(basename(path)) && !component.test(basename(path)));
    expect(names).toEqual([]);
  });

  test('and folders are named after what they hold', () => {
    const vague = /(^|\/)(core|commons?|utils?|helpers?|shared|misc)(\/|\.|$)/;
    expect(allFiles.filter((path) => vague.test(path))).toEqual([]);
  });

  test('name no folder of the machine they were written on', () => {
    const text = allFiles.filter((path) => /\.([jt]sx?|css|html|json|md|proto|toml|ya?ml)$/.test(path));
    expect(findings(text, /(?<![\w.~}*-])\/(?:work|root)(?![\w-])/)).toEqual([]);
  });
});

test('workflows pin actions by commit, keep no credentials, and end in time', () => {
  const workflows = allFiles.filter((path) => path.startsWith('.github/workflows/'));
  expect(findings(workflows, /\buses: (?!\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$)/)).toEqual([]);
  const kept = workflows.filter((path) =>
    /actions\/checkout@\S+ # \S+\n(?! +with:\n +persist-credentials: false\n)/.test(read(path)),
  );
  expect(kept).toEqual([]);
  const count = (path: string, pattern: RegExp): number => read(path).match(pattern)?.length ?? 0;
  const endless = workflows.filter((path) => count(path, /runs-on:/g) !== count(path, /timeout-minutes:/g));
  expect(endless).toEqual([]);
});

test('the jobs with rights get what another has built and tested, and no dependency has an install script that runs', () => {
  const [head = '', all = ''] = read('.github/workflows/release.yml').split(/^jobs:\n/m);
  const jobs = all.split(/^  (?=[\w-]+:\n)/m).slice(1);
  expect(head).toMatch(/^permissions: \{\}$/m);
  const rights = jobs.map((job) => {
    const [, given = 'those of the workflow'] = /^    permissions:\n((?: {6}\S.*\n)+)/m.exec(job) ?? [];
    return [job.split(':', 1)[0], given.trim().split(/\n */)];
  });
  expect(Object.fromEntries(rights)).toEqual({
    build: ['contents: read'],
    version: ['contents: write', 'pull-requests: write'],
    publish: ['contents: write', 'id-token: write'],
  });
  const [build = '', ...others] = jobs;
  expect(build).toMatch(/^ {6}- run: npm test$/m);
  for (const job of others) {
    expect(job).toMatch(/^    needs: build$/m);
    // In the checkout, a file of the other job could replace a script, a hook of git or the settings of npm.
    expect(job).toMatch(
      /uses: actions\/download-artifact@.*\n +with:\n +name: .*\n(?: +#.*\n)* +path: \$\{\{ runner\.temp \}\}\/release\n/,
    );
    expect(job).not.toMatch(/\bgit (?:commit|push) (?!--no-verify )/);
    // Each of these would run the code of dependencies.
    expect(job).not.toMatch(/\b(?:npm (?:ci|install|run|test)|npx|pnpm|tools\/build\.js)\b/);
  }
  expect(read('pnpm-workspace.yaml')).toMatch(/^onlyBuiltDependencies: \[\]$/m);
});

describe('source', () => {
  test('leaves nothing for later', () => {
    const others = codeFiles.filter((path) => path !== 'test/tidy.test.ts');
    expect(findings(others, /\b(?:TODO|FIXME|XXX|HACK)\b/)).toEqual([]);
  });

  test('has no default exports', () => {
    const plain = codeFiles.filter((path) => !path.includes('.config.'));
    expect(findings(plain, /^export default\b/)).toEqual([]);
  });

  test('of libraries writes nothing to the console', () => {
    const libraries = packages.filter(({ folder }) => !folder.startsWith('apps/'));
    expect(findings(libraries.flatMap(sourcesOf), /^(?!\s*\*).*\bconsole\.\w+\(/)).toEqual([]);
  });

  test('of tests runs whole: none is left out or run alone', () => {
    expect(findings(codeFiles.filter(isTest), /\b(?:test|it|describe)(?:\.\w+)*\.(?:only|skip|todo)\b/)).toEqual([]);
  });
});

describe('the tiers', () => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const listed: readonly { file: string; projectName: string }[] = JSON.parse(
    execFileSync(process.execPath, [vitest, 'list', '--filesOnly', '--json'], { cwd: root, encoding: 'utf8' }),
  );
  const runners = allFiles
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith('interop/'))
    .map((path) => {
      const projects = listed.filter(({ file }) => relative(root, file) === path).map(({ projectName }) => projectName);
      return { path, fast: projects.filter((name) => name !== 'thorough').length, all: projects.length };
    });
  const tierOf = (path: string): string => /\.slow\.test|-properties\.test/.exec(path)?.[0] ?? 'fast';

  test.each([
    ['fast', 'once, in the fast tier', { fast: 1, all: 1 }],
    ['.slow.test', 'once, in the thorough tier', { fast: 0, all: 1 }],
    ['-properties.test', 'once in each tier', { fast: 1, all: 2 }],
  ])('run every file of kind %s %s', (kind, _how, times) => {
    const files = runners.filter(({ path }) => tierOf(path) === kind);
    expect(files).toEqual(files.map(({ path }) => ({ path, ...times })));
    expect(files).not.toEqual([]);
  });

  test('run nothing else', () => {
    const known = new Set(runners.map(({ path }) => path));
    expect(listed.filter(({ file }) => !known.has(relative(root, file)))).toEqual([]);
  });

  test('keep a sample of every slow file in the fast tier', () => {
    const slow = runners.map(({ path }) => path).filter((path) => tierOf(path) === '.slow.test');
    expect(slow.filter((path) => !existsSync(join(root, path.replace('.slow', ''))))).toEqual([]);
  });

  test('keep a test of every file in the fast tier', () => {
    const fast = runners.map(({ path }) => path).filter((path) => tierOf(path) === 'fast');
    const tests = (path: string): number => read(path).match(/^\s*(?:test|describe)\b|Contract\(/gm)?.length ?? 0;
    const slow = (path: string): number => read(path).match(/tags: \['slow'\]/g)?.length ?? 0;
    expect(fast.filter((path) => slow(path) >= tests(path))).toEqual([]);
  });

  test('try every random property as often as the tier says', () => {
    const properties = runners.map(({ path }) => path).filter((path) => tierOf(path) === '-properties.test');
    expect(findings(properties, /numRuns: (?!runs\()/)).toEqual([]);
    expect(properties.filter((path) => !/\bruns\(/.test(read(path)))).toEqual([]);
  });
});

describe.each(byName)('@svc/%s', (name, one) => {
  const { folder, manifest, files } = one;
  const isApp = folder.startsWith('apps/');

  test('has tests', () => {
    expect(files.filter((path) => path.endsWith('.test.ts'))).not.toEqual([]);
  });

  test(`has a README of at most ${MAX_README_LINES} lines under its name`, () => {
    const path = join(folder, 'README.md');
    expect(existsSync(join(root, path)), `${path} is missing`).toBe(true);
    expect(read(path).split('\n')[0]).toBe(`# @svc/${name}`);
    expect(lineCount(path)).toBeLessThanOrEqual(MAX_README_LINES);
  });

  test.each(entryPoints(one))('%s has an example in its head and nothing but exports', (path) => {
    const text = read(path);
    expect(text, 'a head comment with an example in a code fence').toMatch(
      /^\/\*\*(?:(?!\*\/)[^])*```ts\n(?:(?!\*\/)[^])*```/,
    );
    expect(
      text
        .replace(/\/\*\*[^]*?\*\//, '')
        .replaceAll(EXPORT_FROM, '')
        .replaceAll(EXPORT_GENERATED, '')
        .trim(),
    ).toBe('');
  });

  test.each(entryPoints(one))('%s exports nothing without a doc comment', (path) => {
    expect(exportsOf(path).filter((item) => !isDocumented(path, item.name))).toEqual([]);
  });

  test('has the same facts in package.json as the others', () => {
    const up = relative(join(root, folder), root);
    const protoFolders = files
      .filter((path) => path.endsWith('.proto'))
      .map((path) => relative(folder, path).split('/')[0]);
    expect({ ...manifest, files: manifest.files.filter((path) => !path.startsWith('!')) }).toMatchObject({
      name: `@svc/${name}`,
      version: packages[0].manifest.version,
      license: 'MIT',
      type: 'module',
      sideEffects: false,
      files: [
        ...(isApp ? ['bin', 'bundle'] : []),
        ...(isLibrary(manifest) ? ['dist', 'src'] : []),
        ...new Set(protoFolders),
        ...(existsSync(join(root, folder, 'web')) ? ['web'] : []),
      ],
      engines: rootManifest.engines,
      scripts: {
        build: 'tsc -b',
        test: `vitest run --root ${up} ${folder}/`,
        'check:package': `node ${up}/tools/check-package.js`,
      },
    });
    expect(manifest.description).toMatch(/\.$/);
    expect(manifest.keywords.length).toBeGreaterThanOrEqual(3);
    expect(manifest.keywords.filter((keyword) => !/^[a-z]+(-[a-z]+)*$/.test(keyword))).toEqual([]);
    // The release workflow fills in the repository and asks for provenance: only it knows where packages come from.
    expect(manifest.repository).toBeUndefined();
    expect(manifest.publishConfig).toEqual({ access: 'public' });
    expect(isApp, 'apps have a binary, libraries have none').toBe(manifest.bin !== undefined);
  });

  test('provides what its dependencies want from their users: an app has it, a library wants it too', () => {
    const own = Object.keys((isApp ? manifest.dependencies : manifest.peerDependencies) ?? {});
    const wanted = Object.keys(manifest.dependencies ?? {}).flatMap((dependency) => {
      const other = packages.find(({ manifest: candidate }) => candidate.name === dependency)?.manifest;
      const isOptional = (peer: string): boolean => other?.peerDependenciesMeta?.[peer]?.optional === true;
      return Object.keys(other?.peerDependencies ?? {}).filter((peer) => !isOptional(peer));
    });
    expect(wanted.filter((peer) => !own.includes(peer))).toEqual([]);
  });

  test('wants the libraries whose types it shows from its users', () => {
    const shown = isApp
      ? []
      : SHOWN_LIBRARIES.filter((library) => sourcesOf(one).some((path) => importsOf(path).includes(library)));
    expect(shown.filter((library) => manifest.peerDependencies?.[library] === undefined)).toEqual([]);
    expect(SHOWN_LIBRARIES.filter((library) => !isApp && manifest.dependencies?.[library] !== undefined)).toEqual([]);
  });
});

// The pages of the console import only this entry point of the client: it has some public names, too.
test.each(byName.filter(([name]) => name !== 'client'))('internal.ts of %s exports no public name', (_name, one) => {
  const [publicly, internally] = [/\/src\/index\.ts$/, /\/src\/internal(?:\/[^/]+)?\.ts$/].map((entry) =>
    entryPoints(one)
      .filter((path) => entry.test(path))
      .flatMap(exportsOf)
      .map(({ name }) => name),
  );
  expect(internally.filter((name) => publicly.includes(name))).toEqual([]);
});

test.each(workspaces.map((one) => [one.manifest.name, one] as const))(
  '%s asks for exact versions',
  (_name, { manifest }) => {
    const ranges = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(ranges.filter(([, range]) => !/^(workspace:\^|catalog:|\d+\.\d+\.\d+(-[\w.]+)?)$/.test(range))).toEqual([]);
  },
);

test('the pages of the console, which run in browsers, import only the client and the Arrow reader of the packages', () => {
  const pages = workspaces.filter(({ manifest }) => manifest.private === true);
  expect(pages.map(({ folder }) => folder)).toEqual(['apps/console']);
  const imported = pages.flatMap(sourcesOf).flatMap((path) => importsOf(path).map((name) => `${path} imports ${name}`));
  expect(imported.filter((one) => / imports (?:@svc\/(?!client\/internal$|arrow$)|node:)/.test(one))).toEqual([]);
});

test('the pnpm that is installed is the one that installs', () => {
  const [version, hash] = rootManifest.packageManager?.split('+') ?? [];
  expect(version).toBe(`pnpm@${rootManifest.devDependencies?.['pnpm']}`);
  // Corepack's form of the checksum that the lockfile has.
  const [, integrity = ''] =
    /^ {2}pnpm@\S+:\n {4}resolution: \{integrity: sha512-(\S+?)\}/m.exec(read('pnpm-lock.yaml')) ?? [];
  expect(hash).toBe(`sha512.${Buffer.from(integrity, 'base64').toString('hex')}`);
});
