// The database as one jar of Maven Central: fetched once, and only taken when it is the one that is pinned here.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '9.3.4';
const SHA256 = '939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062';
const SOURCE = `https://repo1.maven.org/maven2/org/questdb/questdb/${VERSION}/questdb-${VERSION}.jar`;

/** The path of the jar. */
export async function provideJar() {
  const jar = fileURLToPath(
    new URL(`../../node_modules/.cache/interop-questdb/questdb-${VERSION}.jar`, import.meta.url),
  );
  // What stands under its name was whole and the right one when it got it.
  if (existsSync(jar)) return jar;
  console.error(`Fetching QuestDB ${VERSION}; this happens once.`);
  const bytes = await fetchJar();
  mkdirSync(dirname(jar), { recursive: true });
  const part = `${jar}.${process.pid}`;
  writeFileSync(part, bytes);
  renameSync(part, jar);
  return jar;
}

async function fetchJar() {
  const response = await fetch(SOURCE, { signal: AbortSignal.timeout(600_000) });
  if (!response.ok) throw new Error(`Maven Central answered ${response.status} for ${SOURCE}.`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== SHA256) throw new Error(`The checksum of ${SOURCE} is ${sha256} and not ${SHA256}.`);
  return bytes;
}
