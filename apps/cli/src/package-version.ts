import { readFileSync } from 'node:fs';
import { isObject } from './refusal.ts';

/** The version of `svc`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return isObject(manifest) ? String(manifest['version']) : 'unknown';
}
