import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';

const MAX_BYTES = 10_000;

async function bundled(entry: string): Promise<string> {
  const build = await rolldown({
    input: fileURLToPath(new URL(entry, import.meta.url)),
    platform: 'browser',
    external: ['apache-arrow'],
  });
  const { output } = await build.generate({ minify: true });
  await build.close();
  expect(output.length).toBe(1);
  return output[0].code;
}

test(`the client, with all that it imports but Arrow, has at most ${MAX_BYTES} bytes, with gzip`, async () => {
  const code = await bundled('index.ts');
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(MAX_BYTES);
  expect(code.match(/\bfrom ?["'][^"']+["']/g)).toBeNull();
  expect(code.match(/\bimport\([^)]*\)/g)).toEqual(['import(`apache-arrow`)']);
});
