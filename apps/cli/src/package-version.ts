import { readFileSync } from 'node:fs';
import * as v from 'valibot';

const MANIFEST = v.object({ version: v.string() });

/** Reads the version of `svc` from its manifest. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return v.parse(MANIFEST, manifest).version;
}
