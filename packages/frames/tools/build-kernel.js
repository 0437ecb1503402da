// Compiles kernel/ to WebAssembly and writes it to src/encode/kernel/generated, so that a checkout needs no compiler.
// With --check it writes nothing, and the exit code says whether the generated file is up to date.
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
const text = `// Generated from kernel/ by tools/build-kernel.js. Do not edit.

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
