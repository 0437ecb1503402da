// Jars from Maven Central: each is downloaded once, and used only if its checksum matches the pinned one.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';

/** Returns the path of a jar, and downloads it if necessary. */
export function provideJar({ group, artifact, version, sha256: expected }) {
  const name = `${artifact}-${version}.jar`;
  const jar = fileURLToPath(new URL(`../node_modules/.cache/interop-${artifact}/${name}`, import.meta.url));
  // A file gets its final name only after its checksum was verified.
  if (existsSync(jar)) return jar;
  console.error(`Fetching ${name}; this happens once.`);
  mkdirSync(dirname(jar), { recursive: true });
  const folder = mkdtempSync(`${jar}-`);
  try {
    fetchJar(`${group}:${artifact}:${version}`, folder);
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    if (sha256 !== expected) throw new Error(`The checksum of ${name} is ${sha256} and not ${expected}.`);
    renameSync(join(folder, name), jar);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return jar;
}

function fetchJar(coordinates, folder) {
  const args = [`-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`];
  const { status, stdout, stderr, error } = spawnSync('mvn', ['--quiet', '--batch-mode', COPY, ...args], {
    encoding: 'utf8',
    timeout: 600_000,
  });
  if (error) throw new Error(`Maven is needed to fetch ${coordinates}, and could not be started: ${error.message}`);
  if (status !== 0) throw new Error(`Fetching ${coordinates} failed:\n${stdout}${stderr}`);
}
