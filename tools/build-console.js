// Builds the pages of the console, `apps/console`, into the folder of `@svc/console`. Each file is there once, as
// Brotli; the package sends other encodings on demand.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { licencesOf, packagesOf } from './bundled-packages.js';
import { root } from './pack.js';

const APP = join(root, 'apps/console');
/** The packages that the pages import. */
const PACKAGES = ['arrow', 'client'].map((name) => join(root, 'packages', name, 'src'));
const WEB = join(root, 'packages/console/web');
const stampFile = join(root, 'node_modules/.console-stamp');
const NOTICES = 'NOTICES.txt';

/** Returns a stamp of everything in the pages. */
function inputState() {
  const sources = [APP, ...PACKAGES].flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((path) => !path.startsWith('node_modules') && !path.endsWith('.test.ts'))
      .map((path) => join(folder, path))
      .filter((path) => statSync(path).isFile()),
  );
  const own = ['build-console.js', 'bundled-packages.js'].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  const hash = createHash('sha256');
  for (const path of [...sources.toSorted(), ...own, join(root, 'pnpm-lock.yaml')]) {
    hash.update(`${path}\0`).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** Bundles the pages; returns the files by name, and the modules of libraries in them. */
async function bundlePages() {
  // A dependency of the pages, not of the tools.
  const vite = createRequire(join(APP, 'package.json')).resolve('vite');
  const { build } = await import(pathToFileURL(vite).href);
  const { output } = await build({
    root: APP,
    logLevel: 'warn',
    build: { write: false, rolldownOptions: { checks: { bundlerTimings: false } } },
  });
  const files = output.map((file) => [basename(file.fileName), file.type === 'chunk' ? file.code : file.source]);
  const modules = output.flatMap((file) => file.moduleIds ?? []).filter((id) => id.includes('/node_modules/'));
  return { files, modules };
}

/** Writes the pages; returns the modules of libraries in them. */
async function writePages() {
  const { files, modules } = await bundlePages();
  mkdirSync(WEB, { recursive: true });
  const packed = files.map(async ([name, content]) => {
    const bytes = Buffer.from(content);
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(WEB, `${name}.br`), await promisify(brotliCompress)(bytes, { params }));
    return `${name}.br`;
  });
  writeFileSync(join(WEB, NOTICES), licencesOf(packagesOf(modules)));
  // Only now: a server may be running on these files.
  const written = new Set([NOTICES, ...(await Promise.all(packed))]);
  for (const file of readdirSync(WEB)) if (!written.has(file)) rmSync(join(WEB, file));
  return modules;
}

/** Builds the pages if they are out of date; returns the modules of libraries in them. */
export async function buildConsole() {
  const state = inputState();
  const last = existsSync(stampFile) ? JSON.parse(readFileSync(stampFile, 'utf8')) : {};
  if (last.state === state && existsSync(join(WEB, 'index.html.br'))) {
    return last.modules.map((path) => join(root, path));
  }
  const modules = await writePages();
  writeFileSync(stampFile, JSON.stringify({ state, modules: modules.map((path) => relative(root, path)) }));
  return modules;
}
