// Compiles kernel/ to WebAssembly and keeps it in src/encode/kernel/generated, so that a checkout needs no compiler for it.
// With --check nothing is written, and the exit code says whether what is there is up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const folder = fileURLToPath(new URL('..', import.meta.url));
const target = `${folder}src/encode/kernel/generated/kernel-code.ts`;

const options =
  '--outFile kernel.wasm --runtime stub --enable simd --use abort= --optimizeLevel 3 --shrinkLevel 0 --noAssert';

const files = new Map();
const { error } = await asc.main(['kernel/index.ts', '--baseDir', folder, ...options.split(' ')], {
  stderr: process.stderr,
  writeFile: (name, contents) => files.set(name, contents),
});
if (error) process.exit(1);
const code = Buffer.from(files.get('kernel.wasm')).toString('base64');
const text = `// Made from kernel/ by tools/build-kernel.js: change that, not this.

/** The kernel's WebAssembly as base64. */
export const KERNEL_CODE: string =
  '${code}';
`;
if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  console.error('The kernel has changed: run node packages/frames/tools/build-kernel.js.');
  process.exit(1);
}
