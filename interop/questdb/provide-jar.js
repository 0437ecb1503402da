// The database as one jar of Maven Central: fetched once, and only taken when it is the one that is pinned here.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '9.3.4';
const SHA256 = '939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062';
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';

/** The path of the jar. */
export function provideJar() {
  const name = `questdb-${VERSION}.jar`;
  const jar = fileURLToPath(new URL(`../../node_modules/.cache/interop-questdb/${name}`, import.meta.url));
  // What stands under its name was whole and the right one when it got it.
  if (existsSync(jar)) return jar;
  console.error(`Fetching QuestDB ${VERSION}; this happens once.`);
  mkdirSync(dirname(jar), { recursive: true });
  const folder = mkdtempSync(`${jar}-`);
  try {
    fetchJar(folder);
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    if (sha256 !== SHA256) throw new Error(`The checksum of ${name} is ${sha256} and not ${SHA256}.`);
    renameSync(join(folder, name), jar);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return jar;
}

function fetchJar(folder) {
  const args = [`-Dartifact=org.questdb:questdb:${VERSION}`, `-DoutputDirectory=${folder}`];
  const { status, stdout, stderr, error } = spawnSync('mvn', ['--quiet', '--batch-mode', COPY, ...args], {
    encoding: 'utf8',
    timeout: 600_000,
  });
  if (error) throw new Error(`Maven is needed to fetch QuestDB, and could not be started: ${error.message}`);
  if (status !== 0) throw new Error(`Fetching QuestDB failed:\n${stdout}${stderr}`);
}
